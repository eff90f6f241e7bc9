#!/usr/bin/env node
import { hideAddresses } from './hide-addresses.js';
import { run } from './program.js';

const args = process.argv.slice(2);
// Other users of the machine see the command line in its list of programs.
if (args.some((argument) => argument.includes('://'))) process.title = hideAddresses(args);

// A reader that closes the pipe early, such as `head`, is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(0);
});

void run(args).then((exitCode) => {
  process.exitCode = exitCode;
});
