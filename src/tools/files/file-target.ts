import { realpathSync } from 'node:fs';
import path, { posix } from 'node:path';
import { z } from 'zod';
import { parseRequest } from '../../capability/resource/resource.js';
import type { Right } from '../../capability/resource/rights.js';
import { segmentsWithin } from '../../kernel/workspace/working-directory.js';
import type { ToolContext, ToolPlace, ToolResource } from '../tool.js';
import { changedMeanwhile } from './file-errors.js';

/** The schema of a path argument. Which paths are refused is told by INVALID_PATH, not by the schema. */
export function pathInput(description: string): z.ZodString {
  return z.string().describe(`${description}, relative to the working directory, with "/" between names.`);
}

/** The file or folder that a call is about. */
export interface FileTarget {
  /** The path relative to the working directory, as callers give it. */
  readonly inputPath: string;
  /** The same path relative to the workspace, in canonical form. */
  readonly path: string;
  /** The first right that the call required on it. */
  readonly right: Right;
  /** The names of the real path below the workspace; empty for the workspace itself. */
  readonly names: readonly string[];
}

/** The resources for rights on a path of the workspace. */
export function fileResources(path: string, rights: readonly Right[], refusedAs?: Right): ToolResource[] {
  const resource = parseRequest(`fs:${path}`).text;
  return rights.map((right) => ({ right, resource, ...(refusedAs === undefined ? {} : { refusedAs }) }));
}

/** A path of the workspace as callers give it: relative to the working directory. */
export function toCallerPath({ cwd }: Pick<ToolPlace, 'cwd'>, workspacePath: string): string {
  return posix.relative(posix.join('/', cwd), posix.join('/', workspacePath)) || '.';
}

/** The file that the call was authorized for, at the real path that it had then. Throws CONFLICT if it had none. */
export function fileTarget(context: ToolContext, path: string): FileTarget {
  const inputPath = toCallerPath(context, path);
  const [authorized] = context.resources;
  const real = authorized === undefined ? undefined : context.files.get(authorized.resource);
  const names = real === undefined ? undefined : segmentsWithin(context.workspace, real);
  if (authorized === undefined || names === undefined) throw changedMeanwhile(inputPath, 'it cannot be found any more');
  return { inputPath, path: authorized.resource.slice('fs:'.length), right: authorized.right, names };
}

/**
 * Whether there is a file or folder at a path relative to the workspace. True for every path that leads out of the
 * workspace, so that the answer does not reveal what exists there.
 */
export function exists({ workspace }: ToolPlace, relativePath: string): boolean {
  for (let current = relativePath; ; current = posix.dirname(current)) {
    const real = tryRealPath(path.join(workspace, current));
    if (real !== undefined) return current === relativePath || segmentsWithin(workspace, real) === undefined;
    if (current === '.') return false;
  }
}

function tryRealPath(file: string): string | undefined {
  try {
    return realpathSync(file);
  } catch {
    // It does not exist, or cannot be read.
    return undefined;
  }
}
