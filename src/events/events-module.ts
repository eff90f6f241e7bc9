import { ContainerModule } from 'inversify';
import { EventBus, LogEventBus } from './event-bus.js';
import { EventFeed } from './event-feed.js';
import { EventOutbox } from './event-outbox.js';

export const eventsModule = new ContainerModule(({ bind }) => {
  bind(EventOutbox).toSelf();
  bind(EventFeed).toSelf();
  bind(LogEventBus).toSelf();
  bind(EventBus).toService(LogEventBus);
});
