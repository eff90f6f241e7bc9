import { inject, injectable } from 'inversify';
import { parseId, parseSpec } from '../../base/spec.js';
import { type Call, hostCaller } from '../../unit/caller.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { Units } from '../../unit/units.js';
import type { Capability } from '../holding/capability.js';
import { limitFacts, toCapability } from '../holding/capability-record.js';
import { answerFor, capabilitySpec, parseCapabilitySpecs } from '../holding/capability-spec.js';
import { assertNotExpired } from '../holding/expiry.js';
import { Grants } from '../holding/grants.js';
import { HolderLookup } from '../holding/holders.js';

@injectable()
export class Grant {
  constructor(
    @inject(Units) private readonly units: Units,
    @inject(HolderLookup) private readonly holderLookup: HolderLookup,
    @inject(Grants) private readonly grants: Grants,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
  ) {}

  /**
   * Gives a process a root capability, or one for each of a list of resources. Throws NO_SUCH_PROCESS, PROCESS_TERMINATED,
   * INVALID_INPUT.
   */
  async run(input: unknown, spec: unknown): Promise<Capability | Capability[]> {
    const pid = parseId(input, 'pid');
    const parsed = parseSpec(capabilitySpec, spec, 'spec');
    const authorities = parseCapabilitySpecs(parsed);
    const call: Call = { caller: hostCaller, actor: 'host', action: 'capability.grant', target: pid };
    return this.units.commit(call, async (tx, act) => {
      const { generation } = await this.holderLookup.findLive(tx, pid);
      assertNotExpired(parsed, act.at);
      const granted: Capability[] = [];
      for (const authority of authorities) {
        const record = this.grants.createRoot({ pid, generation, at: act.at }, authority, 'host');
        await this.grants.insert(tx, [record]);
        const capability = record.id;
        this.recorder.recordEvent(tx, { type: 'capability.granted', at: act.at, pid, data: { capability } });
        this.recorder.recordAudit(tx, {
          ...act,
          action: call.action,
          outcome: 'ok',
          target: pid,
          capability,
          resource: authority.pattern.text,
          facts: { rights: [...authority.rights], ...limitFacts(record) },
          subject: pid,
        });
        granted.push(toCapability(record, 'live'));
      }
      return answerFor(parsed.resource, granted);
    });
  }
}
