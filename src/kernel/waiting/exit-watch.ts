import { inject, injectable } from 'inversify';
import { EventFeed } from '../../events/event-feed.js';
import { ProcessWatch } from './process-watch.js';

/** Tells who waits that a process has ended or is being stopped. */
@injectable()
export class ExitWatch extends ProcessWatch {
  constructor(@inject(EventFeed) feed: EventFeed) {
    super();
    feed.subscribe('exits', { 'process.exited': this.notify, 'process.stopping': this.notify });
  }
}
