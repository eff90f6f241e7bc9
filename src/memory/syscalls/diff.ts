import { inject, injectable } from 'inversify';
import { z } from 'zod';
import type { ObjectId, Pid } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import { amount } from '../../base/spec.js';
import type { Caller } from '../../unit/caller.js';
import { type JsonPatch, patchBetween } from '../json-patch.js';
import type { ObjectRef } from '../object/object.js';
import { parseMemorySpec, refSpec } from '../specs.js';
import type { MemoryView } from './find.js';
import { ReadObject } from './read.js';

/** A side of a diff: an object as the process sees it, one of its versions, or all that its view holds. */
export type DiffSide = ObjectRef | { readonly object: ObjectRef; readonly version: number } | MemoryView;

const versionSide = z.strictObject({ object: refSpec, version: amount.min(1) });
const viewSide = z.strictObject({ id: z.string(), mode: z.string(), roots: z.array(refSpec) });
const sideSpec = z.union([refSpec, versionSide, viewSide], 'is not an object, a version or a view');

@injectable()
export class DiffObjects {
  constructor(@inject(ReadObject) private readonly readObject: ReadObject) {}

  /** The patch that turns `a` into `b`. Needs `diff` on both. Throws NO_SUCH_OBJECT, INVALID_INPUT. */
  async run(caller: Caller, pid: Pid, a: unknown, b: unknown): Promise<JsonPatch> {
    const sides = [parseMemorySpec(sideSpec, a, 'a'), parseMemorySpec(sideSpec, b, 'b')] as const;
    return patchBetween(await this.contentOf(caller, pid, sides[0]), await this.contentOf(caller, pid, sides[1]));
  }

  /** The payload of an object, or for a view a map of its ids, as they were when `memory.view` returned it, to payloads. */
  private async contentOf(caller: Caller, pid: Pid, side: z.output<typeof sideSpec>): Promise<JsonValue> {
    const payloadOf = async (id: ObjectId, version?: number) =>
      (await this.readObject.readBy(caller, pid, id, 'diff', version)).payload;
    if (typeof side === 'string') return payloadOf(side);
    if ('version' in side) return payloadOf(side.object, side.version);
    const payloads: [ObjectId, JsonValue][] = [];
    for (const id of side.roots) payloads.push([id, await payloadOf(id)]);
    return Object.fromEntries(payloads);
  }
}
