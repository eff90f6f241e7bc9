import type { AuditFilter, AuditRecord, Kernel } from '../../../index.js';
import { type CommonOptions, withReadOnlyStore } from '../../open-store.js';
import { paint, writeJsonLine, writeLine } from '../../output.js';
import { findActor } from '../../pids.js';
import { safeText } from '../../safe-text.js';
import { formatTime } from '../../times.js';

interface AuditOptions extends CommonOptions {
  readonly actor?: string;
  readonly action?: string;
  readonly target?: string;
  readonly resource?: string;
  readonly capability?: string;
  readonly decision?: string;
  readonly outcome?: NonNullable<AuditFilter['outcome']>;
  readonly after: number;
  readonly limit?: number;
}

const pageRows = 1_000;

/** Prints audit records, oldest first. */
export async function audit(options: AuditOptions): Promise<void> {
  await withReadOnlyStore(options, async (kernel) => {
    const filter = await filterOf(kernel, options);
    let left = options.limit ?? Number.MAX_SAFE_INTEGER;
    for (let after: string | undefined = String(options.after); after !== undefined && left > 0; ) {
      const page = await kernel.audit.list({ ...filter, after, limit: Math.min(left, pageRows) });
      for (const record of page.items)
        await (options.json === true ? writeJsonLine(record) : writeLine(formatRecord(record)));
      left -= page.items.length;
      after = page.next;
    }
  });
}

async function filterOf(kernel: Kernel, options: AuditOptions): Promise<AuditFilter> {
  const { actor, action, target, resource, capability, decision, outcome } = options;
  return {
    ...(actor === undefined ? {} : { actor: await findActor(kernel, actor) }),
    ...(target === undefined ? {} : { target: await findActor(kernel, target) }),
    ...(action === undefined ? {} : { action }),
    ...(resource === undefined ? {} : { resource }),
    ...(capability === undefined ? {} : { capability }),
    ...(decision === undefined ? {} : { decision }),
    ...(outcome === undefined ? {} : { outcome }),
  };
}

/** One line with the action, its target, its outcome and its actor. */
export function formatRecord(record: AuditRecord): string {
  const { seq, at, actor, action, target, resource, outcome, code, before, after, payload } = record;
  const outcomeText = code === undefined ? outcome : `${outcome} ${code}`;
  const parts = [
    paint.dim(`${seq} ${formatTime(at)}`),
    safeText(action, 60),
    ...(target === undefined ? [] : [safeText(target, 60)]),
    ...(resource === undefined ? [] : [safeText(resource, 80)]),
    ...(before === undefined && after === undefined ? [] : [`${before ?? ''}→${after ?? ''}`]),
    outcome === 'ok' ? paint.green(outcomeText) : paint.yellow(safeText(outcomeText, 60)),
    paint.dim(`by ${safeText(actor, 60)}`),
    ...(payload === null ? [paint.dim('payload erased')] : []),
    ...(typeof payload?.reason === 'string' ? [paint.dim(`"${safeText(payload.reason, 100)}"`)] : []),
  ];
  return parts.join(' ');
}
