import { inject, injectable } from 'inversify';
import { type InputError, invalidInput } from '../../base/errors.js';
import type { JsonObject, JsonValue } from '../../base/json.js';
import { validate } from '../../base/schema/schema.js';
import type { StandardSchema } from '../../base/schema/schema-types.js';
import { copyPlain, type PlainLimits, payloadLimits } from '../../base/spec.js';
import { MemoryCharges } from '../../memory/memory-charges.js';
import type { ProcessCaller } from '../../unit/caller.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { Units } from '../../unit/units.js';
import { BodyCalls, noAnswer } from './body-calls.js';
import type { Run } from './run.js';

/** The events that an image declares, by name. */
export type DeclaredEvents = ReadonlyMap<string, StandardSchema>;

const dataLimits: PlainLimits = { ...payloadLimits, bytesMax: 16 * 1024 };
const namesShownMax = 50;

/** Emits the events that images declare. Event and journal are one commit, so that a rerun does not emit again. */
@injectable()
export class UserEvents {
  constructor(
    @inject(BodyCalls) private readonly calls: BodyCalls,
    @inject(Units) private readonly units: Units,
    @inject(MemoryCharges) private readonly charges: MemoryCharges,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
  ) {}

  /** Throws INVALID_INPUT for what is not declared, does not fit its schema, or has over 16 KiB of JSON; BUDGET_EXCEEDED. */
  async emit(run: Run, declared: DeclaredEvents, name: string, given: unknown): Promise<void> {
    const copied = copyOrError(given);
    await this.calls.runJournalled(run, 'emit', shownName(name), noAnswer, async (_face, _call, caller) => {
      const schema = declared.get(name);
      if (schema === undefined) throw undeclared(name, declared);
      if ('error' in copied) throw copied.error;
      const context = { path: 'data', hint: `See the schema of the event ${name}.`, facts: { event: name } };
      const data = copyPlain(await validate(schema, copied.value, context), 'data', dataLimits);
      if (!isObject(data)) throw notAnObject(name);
      await this.store(run, caller, name, data);
    });
  }

  private store(run: Run, caller: ProcessCaller, name: string, data: JsonObject): Promise<void> {
    const { pid } = run;
    const event = `user.${name}` as const;
    return this.units.commit({ caller, actor: pid, action: 'event.emit', target: pid }, async (tx, act) => {
      await this.charges.chargeStored(tx, pid, Buffer.byteLength(JSON.stringify(data)));
      this.recorder.record(tx, act, run.row, { event, data, action: 'event.emit', facts: { event } });
    });
  }
}

/** A copy as it was when the call was made. Its error is thrown as the failure of the call. */
function copyOrError(given: unknown): { readonly value: JsonValue } | { readonly error: unknown } {
  try {
    return { value: copyPlain(given, 'data', payloadLimits) };
  } catch (error) {
    return { error };
  }
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function notAnObject(event: string): InputError {
  return invalidInput('data', 'is not an object', 'Give the data of an event as members of an object.', { event });
}

function shownName(name: unknown): string {
  return typeof name === 'string' ? name.slice(0, 200).toWellFormed() : typeof name;
}

function undeclared(name: unknown, declared: DeclaredEvents): InputError {
  const names = [...declared.keys()].slice(0, namesShownMax);
  const shown = shownName(name);
  const hint = names.length === 0 ? 'Declare it in `events` of the image.' : `The image declares: ${names.join(', ')}.`;
  return invalidInput('name', `the image declares no event ${JSON.stringify(shown)}`, hint, { event: shown });
}
