import { inject, injectable } from 'inversify';
import { EventFeed } from '../../events/event-feed.js';
import { ProcessWatch } from './process-watch.js';

/** Tells who waits that a message or a signal has come for its process, or that this will come to nothing. */
@injectable()
export class InboxWatch extends ProcessWatch {
  constructor(@inject(EventFeed) feed: EventFeed) {
    super();
    feed.subscribe('inbox', {
      'message.sent': this.notify,
      'process.signalled': this.notify,
      'process.stopping': this.notify,
      'process.exited': this.notify,
    });
  }
}
