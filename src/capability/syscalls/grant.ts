import { inject, injectable } from 'inversify';
import { Ledger } from '../../audit/writing/ledger.js';
import { parseSpec } from '../../base/spec.js';
import { EventLog } from '../../events/event-outbox.js';
import { hostFace } from '../../unit/act.js';
import type { Capability } from '../holding/capability.js';
import { toCapability } from '../holding/capability-record.js';
import { capabilitySpec, parseCapabilitySpec } from '../holding/capability-spec.js';
import { Grants } from '../holding/grants.js';
import { Holders } from '../holding/holders.js';
import { named } from '../named.js';
import { RecordedUnits } from '../recorded-units.js';

@injectable()
export class Grant {
  constructor(
    @inject(RecordedUnits) private readonly units: RecordedUnits,
    @inject(Holders) private readonly holders: Holders,
    @inject(Grants) private readonly grants: Grants,
    @inject(EventLog) private readonly events: EventLog,
    @inject(Ledger) private readonly ledger: Ledger,
  ) {}

  /** Gives a process a root capability. Throws NO_SUCH_PROCESS, PROCESS_TERMINATED, INVALID_INPUT. */
  async run(input: unknown, given: unknown): Promise<Capability> {
    const pid = named(input, 'pid');
    const authority = parseCapabilitySpec(parseSpec(capabilitySpec, given, 'spec'));
    const call = { caller: hostFace, actor: 'host', action: 'capability.grant', target: pid } as const;
    return this.units.commit(call, async (tx, act) => {
      const { generation } = await this.holders.live(tx, pid);
      const record = this.grants.root({ pid, generation, at: act.at }, authority, 'host');
      await this.grants.insert(tx, [record]);
      const capability = record.id;
      this.events.append(tx, { type: 'capability.granted', at: act.at, pid, data: { capability } });
      this.ledger.append(tx, {
        ...act,
        action: call.action,
        outcome: 'ok',
        target: pid,
        capability,
        resource: authority.pattern.text,
        facts: { rights: [...authority.rights] },
        subject: pid,
      });
      return toCapability(record, 'live');
    });
  }
}
