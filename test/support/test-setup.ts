import fc from 'fast-check';
import { isSweep, seeded } from './seeded.js';
import { setStoreMode, storeModeOfEnvironment } from './store-modes.js';

// A property that names no seed of its own is repeatable as well. A sweep tries what nobody has seen.
if (!isSweep) fc.configureGlobal(seeded({}));

setStoreMode(storeModeOfEnvironment());
