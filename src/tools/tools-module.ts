import { ContainerModule } from 'inversify';
import { ToolGate } from '../kernel/tool-gate.js';
import { Broker } from './broker.js';
import { BuiltinTools } from './builtin/builtin-tools.js';
import { McpConnections } from './mcp/mcp-connections.js';
import { McpJournal } from './mcp/mcp-journal.js';
import { CallShaper } from './shaped-call.js';
import { StopSignals } from './stop-signals.js';
import { HostToolBroker, ToolBroker } from './tool-broker.js';
import { ToolIntents } from './tool-intents.js';
import { ToolOutcomes } from './tool-outcomes.js';
import { ToolPlaces } from './tool-places.js';
import { ToolRegistry } from './tool-registry.js';
import { ToolRunner } from './tool-runner.js';
import { VisibleTools } from './visible-tools.js';

export const toolsModule = new ContainerModule(({ bind }) => {
  const parts = [
    BuiltinTools,
    CallShaper,
    McpConnections,
    McpJournal,
    StopSignals,
    ToolIntents,
    ToolOutcomes,
    ToolPlaces,
    ToolRegistry,
    ToolRunner,
    VisibleTools,
  ];
  for (const part of parts) bind<object>(part).toSelf();
  bind(ToolGate).to(Broker);
  bind(ToolBroker).to(HostToolBroker);
});
