import { sha256Hex } from '../../base/json.js';
import type { ParsedImage } from './image-definition.js';

const buildChars = 16;

/** Identifies the code of an image: its `build`, where it has one, else a hash of its program with the text of its functions. */
export function buildOf(image: ParsedImage): string {
  if ('build' in image && typeof image.build === 'string') return image.build;
  const { run, steps, supervision, command } = image;
  return sha256Hex(JSON.stringify({ run, steps, supervision, command }, withFunctionText)).slice(0, buildChars);
}

function withFunctionText(_key: string, value: unknown): unknown {
  return typeof value === 'function' ? String(value) : value;
}
