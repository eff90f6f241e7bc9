import type { Constraints } from '../constraint/atoms.js';
import type { CapabilityRecord } from './capability-record.js';

/**
 * Rows whose equal parts are the same object in memory: thousands of capabilities of one process have the same holder,
 * status and constraints, and what is looked at again and again should lie close together.
 */
export class SharedValues {
  private readonly texts = new Map<string, string>();
  private readonly constraints = new Map<string, Constraints>();

  of(record: CapabilityRecord): CapabilityRecord {
    const { holder, status, grantedBy, constraints } = record;
    return {
      ...record,
      holder: this.text(holder),
      status: this.text(status) as CapabilityRecord['status'],
      grantedBy: this.text(grantedBy),
      constraints: constraints === null ? null : this.map(constraints),
    };
  }

  private text(value: string): string {
    const known = this.texts.get(value);
    if (known === undefined) this.texts.set(value, value);
    return known ?? value;
  }

  private map(value: Constraints): Constraints {
    const text = JSON.stringify(value);
    const known = this.constraints.get(text);
    if (known === undefined) this.constraints.set(text, value);
    return known ?? value;
  }
}
