#!/usr/bin/env node
import { run } from './program.js';

// A reader that closes the pipe early, such as `head`, is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(0);
});

void run(process.argv.slice(2)).then((exitCode) => {
  process.exitCode = exitCode;
});
