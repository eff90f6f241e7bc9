import { inject, injectable } from 'inversify';
import { EventFeed } from '../../events/event-feed.js';
import { ProcessWatch } from './process-watch.js';

/** Tells who waits that a message or a signal has come for its process, or that this will come to nothing. */
@injectable()
export class ArrivalWatch extends ProcessWatch {
  constructor(@inject(EventFeed) feed: EventFeed) {
    super(feed, ['message.sent', 'process.signalled', 'process.stopping', 'process.exited']);
  }
}
