import fc from 'fast-check';
import { inject } from 'vitest';
import { isSweep, seeded } from './seeded.js';
import { isSqlite } from './store-kind.js';
import { setStoreMode, storeModeOfEnvironment } from './store-modes.js';

// A property that names no seed of its own is repeatable as well. A sweep tries what nobody has seen.
if (!isSweep) fc.configureGlobal(seeded({}));

setStoreMode(storeModeOfEnvironment());

// State folders of stores that are no files: in a folder that is removed after the run.
if (!isSqlite) process.env.XDG_STATE_HOME = inject('postgres').state;
