import pg from 'pg';
import { onTestFinished } from 'vitest';

/** What kernels have sent since the counting began. */
export interface Trips {
  /** Batches of writers: each is a round trip. */
  writer: number;
  /** Transactions of writers. */
  groups: number;
  /** Statements of readers, without notifications. */
  reads: number;
}

interface SentBatch {
  readonly items?: readonly { readonly statement: { readonly text: string } }[];
}

/** Counts what the kernels of this program send, from now until the end of the test. */
export function countTrips(): Trips {
  const trips: Trips = { writer: 0, groups: 0, reads: 0 };
  const prototype = pg.Client.prototype as { query: (...args: [SentBatch]) => unknown };
  const { query } = prototype;
  prototype.query = function (this: { connectionParameters: { application_name: string } }, ...args: [SentBatch]) {
    const role = this.connectionParameters.application_name.split(' ').at(-1);
    const texts = args[0].items?.map(({ statement }) => statement.text) ?? [];
    if (role === 'writer') {
      trips.writer++;
      if (texts[0] === 'BEGIN') trips.groups++;
    }
    if (role === 'reader') trips.reads += texts.filter((text) => !text.includes('pg_notify')).length;
    return query.apply(this, args);
  };
  onTestFinished(() => {
    prototype.query = query;
  });
  return trips;
}
