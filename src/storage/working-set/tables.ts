import { accounts, reservations } from '../schema/accounts.js';
import { capabilities } from '../schema/capabilities.js';
import { messages, nodes, runEntries } from '../schema/execution.js';
import { objects, viewEntries, views } from '../schema/memory.js';
import { processes, reaped } from '../schema/processes.js';
import { settings } from '../schema/settings.js';
import { Rows } from './rows.js';

/*
 * The tables whose rows are kept in the working set. A statement that changes rows of one of them directly is
 * one of `rewrite`.
 */

export const processRows = new Rows(processes, {
  key: ['pid'],
  other: 'n',
  frozen: ['path'],
  lists: { liveChildren: { column: 'parent', whereNull: 'exitedAt' } },
});

export const accountRows = new Rows(accounts, { key: ['n'] });
export const reservationRows = new Rows(reservations, { key: ['id'], lists: { ofProcess: 'pid' } });
export const capabilityRows = new Rows(capabilities, { key: ['id'], lists: { ofHolder: 'holder' } });
export const objectRows = new Rows(objects, { key: ['id'] });
export const viewRows = new Rows(views, { key: ['n'] });
export const viewEntryRows = new Rows(viewEntries, { key: ['n'], lists: { ofView: 'view' } });
export const runEntryRows = new Rows(runEntries, { key: ['process', 'key'], lists: { ofProcess: 'process' } });
export const messageRows = new Rows(messages, { key: ['n'], lists: { ofReceiver: 'to' } });
export const reapedRows = new Rows(reaped, { key: ['n'] });
export const settingRows = new Rows(settings, { key: ['name'] });
export const nodeRows = new Rows(nodes, { key: ['id'] });
