import { createRequire } from 'node:module';

const { resolve } = createRequire(import.meta.url);

/**
 * Source text that defines `Ajv` and `Ajv2020` for the program of a worker thread. The build replaces this module by one
 * that has the code of the package as text, because a bundled application has no folder to load it from.
 */
export const schemaCompilers = `
const { Ajv } = require(${JSON.stringify(resolve('ajv'))});
const { Ajv2020 } = require(${JSON.stringify(resolve('ajv/dist/2020.js'))});
`;
