import { inject, injectable } from 'inversify';
import { z } from 'zod';
import { invalidInput } from '../../base/errors.js';
import type { Pid } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import { amount } from '../../base/spec.js';
import type { Caller } from '../../capability/act.js';
import { type JsonPatch, patchBetween } from '../json-patch.js';
import type { ObjectRef } from '../object-handle.js';
import { parse, refSpec } from '../specs.js';
import type { MemoryView } from './find.js';
import { ReadObject } from './read.js';

/** A side of a diff: an object as the process sees it, one of its versions, or all that its view holds. */
export type DiffSide = ObjectRef | { readonly object: ObjectRef; readonly version: number } | MemoryView;

const versionSide = z.strictObject({ object: refSpec, version: amount.min(1) });

@injectable()
export class DiffObjects {
  constructor(@inject(ReadObject) private readonly reading: ReadObject) {}

  /** What turns the one into the other. Needs `diff` on both. Throws NO_SUCH_OBJECT, INVALID_INPUT. */
  async run(caller: Caller, pid: Pid, a: unknown, b: unknown): Promise<JsonPatch> {
    return patchBetween(await this.side(caller, pid, a, 'a'), await this.side(caller, pid, b, 'b'));
  }

  private async side(caller: Caller, pid: Pid, given: unknown, name: string): Promise<JsonValue> {
    if (isView(given)) return this.view(caller, pid, given);
    const isVersion = typeof given === 'object' && given !== null && 'version' in given;
    const { object, version } = isVersion
      ? parse(versionSide, given, name)
      : { object: parse(refSpec, given, name), version: undefined };
    await this.reading.looking(caller, pid, object, 'diff', async () => undefined);
    return (await this.reading.run(caller, pid, object, version === undefined ? {} : { version })).payload;
  }

  /** A view as a map from the ids to the payloads of what was in it when it was looked at. */
  private async view(caller: Caller, pid: Pid, { roots }: MemoryView): Promise<JsonValue> {
    const payloads: [string, JsonValue][] = [];
    for (const root of roots) payloads.push([root.id, (await this.reading.run(caller, pid, root)).payload]);
    return Object.fromEntries(payloads);
  }
}

function isView(given: unknown): given is MemoryView {
  if (typeof given !== 'object' || given === null || !('roots' in given)) return false;
  if (Array.isArray(given.roots)) return true;
  throw invalidInput('roots', 'is not a list of handles', 'Give what memory.view has answered.');
}
