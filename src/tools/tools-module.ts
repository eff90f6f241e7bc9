import { ContainerModule } from 'inversify';
import { ToolGate } from '../kernel/face/tool-gate.js';
import { RegisteredTools } from '../runtime/node/node-offering.js';
import { BuiltinTools } from './builtin/builtin-tools.js';
import { CallPreparer } from './call/call-preparer.js';
import { ToolIntents } from './call/intents.js';
import { ToolOutcomes } from './call/outcomes.js';
import { ToolCallGate } from './call/tool-call-gate.js';
import { ToolConcurrency } from './call/tool-concurrency.js';
import { ToolRunner } from './call/tool-runner.js';
import { ForeignSchemas } from './mcp/foreign-schemas.js';
import { McpConnections } from './mcp/mcp-connections.js';
import { McpRecorder } from './mcp/mcp-recorder.js';
import { McpServers } from './mcp/mcp-servers.js';
import { HostToolBroker, ToolBroker } from './tool-broker.js';
import { ToolRegistry } from './tool-registry.js';

export const toolsModule = new ContainerModule(({ bind }) => {
  const parts = [
    BuiltinTools,
    CallPreparer,
    ForeignSchemas,
    McpConnections,
    McpRecorder,
    McpServers,
    ToolIntents,
    ToolOutcomes,
    ToolConcurrency,
    ToolRegistry,
    ToolRunner,
  ];
  for (const part of parts) bind<object>(part).toSelf();
  bind(RegisteredTools).toService(ToolRegistry);
  bind(ToolGate).to(ToolCallGate);
  bind(ToolBroker).to(HostToolBroker);
});
