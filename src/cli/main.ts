#!/usr/bin/env node
import { run } from './program.js';

// A reader that has seen enough, such as `head`, is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(0);
});

void run(process.argv.slice(2)).then((exitCode) => {
  process.exitCode = exitCode;
});
