import { errorText } from '../../base/errors.js';
import type { JsonObject } from '../../base/json.js';
import type { Logger } from '../../base/logger.js';
import type { Effect, ToolInfo } from '../../kernel/face/process-tools.js';
import type { Tool } from '../tool.js';
import type { ToolRegistry } from '../tool-registry.js';
import type { ForeignSchemas } from './foreign-schemas.js';
import type { ToolChanges } from './mcp-recorder.js';
import { effectOfAnnotations, type ListedTool, type McpCall, mcpToolName, toTool } from './mcp-tool.js';

/** The most tools of one server that are registered. */
export const toolsMax = 1_000;

interface RegisteredTool {
  /** The tool as the server listed it, as JSON. */
  readonly listing: string;
  readonly registration: Disposable;
}

/** The tools of one server in the registry. */
export class McpTools {
  private readonly registered = new Map<string, RegisteredTool>();
  private isClosed = false;

  constructor(
    private readonly server: string,
    private readonly effects: ReadonlyMap<string, Effect>,
    private readonly call: McpCall,
    private readonly registry: ToolRegistry,
    private readonly schemas: ForeignSchemas,
    private readonly logger: Logger,
  ) {}

  /**
   * Registers the listed tools in place of the earlier ones. A tool that cannot be used is left out, with a warning. Throws
   * the reason of `signal`, and changes nothing then.
   */
  async update(listed: readonly ListedTool[], signal: AbortSignal): Promise<ToolChanges> {
    const listings = this.byName(listed);
    const tools = await this.createTools(listings, signal);
    const before = new Set(this.registered.keys());
    const stale = [...this.registered].flatMap(([name, { listing }]) =>
      listing === textOf(listings.get(name)) ? [] : [name],
    );
    for (const name of stale) this.unregister(name);
    for (const [name, tool] of tools) this.register(name, tool, textOf(listings.get(name)));
    return {
      added: [...this.registered.keys()].filter((name) => !before.has(name)).length,
      removed: [...before].filter((name) => !this.registered.has(name)).length,
      changed: stale.filter((name) => this.registered.has(name)).length,
    };
  }

  list(): ToolInfo[] {
    return [...this.registered.keys()].flatMap((name) => this.registry.find(name)?.info() ?? []);
  }

  /** Removes all of them; `update` registers nothing any more. */
  close(): void {
    this.isClosed = true;
    for (const name of [...this.registered.keys()]) this.unregister(name);
  }

  /** By the names that they are registered under. */
  private byName(listed: readonly ListedTool[]): Map<string, ListedTool> {
    if (listed.length > toolsMax) this.warn({ listed: listed.length, toolsMax }, 'has more tools than are shown');
    const named = new Map<string, ListedTool>();
    for (const tool of listed.slice(0, toolsMax)) {
      const name = mcpToolName(this.server, tool.name);
      if (named.has(name)) this.warn({ tool: name }, 'has two tools of one name: the later one is left out');
      else named.set(name, tool);
    }
    return named;
  }

  /** Makes tools of the listings that are new or changed. */
  private async createTools(
    listings: ReadonlyMap<string, ListedTool>,
    signal: AbortSignal,
  ): Promise<Map<string, Tool>> {
    const compileSchema = (schema: JsonObject) => this.schemas.compile(this.server, schema, signal);
    const tools = new Map<string, Tool>();
    for (const [name, listed] of listings) {
      if (this.registered.get(name)?.listing === textOf(listed)) continue;
      try {
        const effect = this.effects.get(listed.name) ?? effectOfAnnotations(listed);
        tools.set(name, await toTool(name, listed, effect, this.call, compileSchema));
      } catch (error) {
        signal.throwIfAborted();
        this.warn({ tool: name, problem: errorText(error) }, 'has a tool that cannot be used');
      }
    }
    return tools;
  }

  private register(name: string, tool: Tool, listing: string): void {
    if (this.isClosed) return;
    try {
      this.registered.set(name, { listing, registration: this.registry.register(tool) });
    } catch (error) {
      this.warn({ tool: name, problem: errorText(error) }, 'has a tool that cannot be registered');
    }
  }

  private unregister(name: string): void {
    this.registered.get(name)?.registration[Symbol.dispose]();
    this.registered.delete(name);
  }

  private warn(facts: Record<string, string | number>, problem: string): void {
    this.logger.warn({ server: this.server, ...facts }, `MCP server ${this.server} ${problem}`);
  }
}

function textOf(listed: ListedTool | undefined): string {
  return JSON.stringify(listed ?? null);
}
