import { z } from 'zod';

/** The path argument of every file tool. What it may look like is told by INVALID_PATH, not by the schema. */
export function pathInput(what: string): z.ZodString {
  return z.string().describe(`${what}, relative to the working directory, with "/" between names.`);
}
