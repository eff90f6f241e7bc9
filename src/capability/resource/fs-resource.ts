import { badResource } from './resource-text.js';

/**
 * The segments of a workspace-relative path; none for the workspace itself. `//`, `/./` and a last `/` vanish; `..` is
 * resolved in a request and refused in a pattern. Throws INVALID_INPUT for a path that leaves the workspace.
 */
export function fsSegments(body: string, whole: string, form: 'pattern' | 'request'): readonly string[] {
  if (body.startsWith('/')) throw badResource(whole, 'is an absolute path', relativeHint);
  if (body.includes('\\')) throw badResource(whole, 'has a backslash', 'Separate directories with "/".');
  if (driveLetter.test(body)) throw badResource(whole, 'has a drive letter', relativeHint);
  const segments: string[] = [];
  for (const part of body.split('/')) {
    if (part === '' || part === '.') continue;
    if (part !== '..') {
      segments.push(part);
      continue;
    }
    if (form === 'pattern') throw badResource(whole, 'a pattern may not have ".."', 'Write the path without "..".');
    if (segments.pop() === undefined) throw badResource(whole, 'leaves the workspace', relativeHint);
  }
  if (driveLetter.test(segments[0] ?? '')) throw badResource(whole, 'has a drive letter', relativeHint);
  return segments;
}

const driveLetter = /^[A-Za-z]:/;
const relativeHint = 'Give a path relative to the workspace, such as "fs:src/main.ts"; the workspace itself is "fs:.".';
