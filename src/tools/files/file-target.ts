import { realpathSync } from 'node:fs';
import path, { posix } from 'node:path';
import { z } from 'zod';
import { parseRequest } from '../../capability/resource/resource.js';
import type { Right } from '../../capability/resource/rights.js';
import { invalidPath, normalise, within } from '../../kernel/workspace/working-directory.js';
import type { ToolContext, ToolPlace, ToolResource } from '../tool.js';
import { changedMeanwhile } from './file-errors.js';

/** The schema of a path argument. Which paths are refused is told by INVALID_PATH, not by the schema. */
export function pathInput(description: string): z.ZodString {
  return z.string().describe(`${description}, relative to the working directory, with "/" between names.`);
}

/** The file or folder that a call is about. */
export interface FileTarget {
  /** The path as the caller gave it. */
  readonly shown: string;
  /** Relative to the workspace, as it was asked for. */
  readonly path: string;
  /** The right that was asked for first. */
  readonly right: Right;
  /** The names from the workspace down to where it really lies; none for the workspace itself. */
  readonly names: readonly string[];
}

/** Asks for rights on a path that is seen from the working directory. Throws INVALID_PATH. */
export function fileResources(place: ToolPlace, given: string, rights: readonly Right[]): ToolResource[] {
  const resource = parseRequest(`fs:${workspacePath(place, given)}`).text;
  return rights.map((right) => ({ right, resource }));
}

/** What was decided on, where it lay then. */
export function fileTarget(context: ToolContext, shown: string): FileTarget {
  const [decided] = context.resources;
  const real = decided === undefined ? undefined : context.files.get(decided.resource);
  const names = real === undefined ? undefined : within(context.workspace, real);
  if (decided === undefined || names === undefined) throw changedMeanwhile(shown, 'it cannot be found any more');
  return { shown, path: decided.resource.slice('fs:'.length), right: decided.right, names };
}

/**
 * Relative to the workspace, in canonical form. An absolute path has to be spelled canonically, so that there is one
 * spelling that constraints can speak of. Looks at the text only. Throws INVALID_PATH.
 */
export function workspacePath({ cwd, workspace }: Pick<ToolPlace, 'cwd' | 'workspace'>, given: string): string {
  if (!posix.isAbsolute(given)) return normalise(cwd, given);
  if (given === workspace) return '.';
  const above = workspace.endsWith('/') ? workspace : `${workspace}/`;
  if (!given.startsWith(above)) throw invalidPath(given, 'it is absolute, and not in the workspace');
  const inside = given.slice(above.length);
  if (normalise('.', inside) !== inside) throw invalidPath(given, 'it is absolute, and not spelled canonically');
  return inside;
}

/**
 * Whether there is something that has this name. What lies outside the workspace counts as there, so that nobody learns
 * what is there: it is never allowed anyway.
 */
export function exists({ workspace }: ToolPlace, inside: string): boolean {
  for (let spelled = inside; ; spelled = posix.dirname(spelled)) {
    const real = tryRealPath(path.join(workspace, spelled));
    if (real !== undefined) return spelled === inside || within(workspace, real) === undefined;
    if (spelled === '.') return false;
  }
}

function tryRealPath(spelled: string): string | undefined {
  try {
    return realpathSync(spelled);
  } catch {
    // It is not there, or cannot be looked at: its folder is looked at next.
    return undefined;
  }
}
