import { inject, injectable } from 'inversify';
import { ToolError } from '../base/errors.js';
import type { Pid } from '../base/ids.js';
import { Listeners } from '../base/listeners.js';
import { Logger } from '../base/logger.js';
import type { ToolInfo } from '../kernel/face/process-tools.js';
import { matchesToolEntry } from '../kernel/node/placement.js';
import { MemoryImageRegistry } from '../runtime/image/image-registry.js';
import type { RegisteredTools } from '../runtime/node/node-offering.js';
import type { ExternalTool, Tool } from './tool.js';
import { type ParsedTool, parseTool } from './tool-definition.js';

const missedMax = 1_000;

/** The tools of this kernel by name, and which of them an image shows its processes. Seeing a tool is not authority to call it. */
@injectable()
export class ToolRegistry implements RegisteredTools {
  private readonly tools = new Map<string, ParsedTool>();
  /** The objects that the tools were registered with. */
  private readonly originals = new Map<object, ParsedTool>();
  private readonly listeners = new Listeners();
  /** Names that a process has called and no tool had, with the first such process. */
  private readonly missed = new Map<string, Pid>();

  constructor(
    @inject(MemoryImageRegistry) private readonly images: MemoryImageRegistry,
    @inject(Logger) private readonly logger: Logger,
  ) {}

  /** Disposing of the result removes the tool. Throws INVALID_INPUT, CONFLICT for a name that is taken. */
  register(tool: Tool | ExternalTool): Disposable {
    const parsed = parseTool(tool);
    const { name } = parsed;
    if (this.tools.has(name)) throw alreadyRegistered(name);
    this.tools.set(name, parsed);
    this.originals.set(tool, parsed);
    this.listeners.notify();
    this.tellIfLate(name);
    return {
      [Symbol.dispose]: () => {
        if (this.tools.get(name) !== parsed) return;
        this.tools.delete(name);
        this.originals.delete(tool);
        this.listeners.notify();
      },
    };
  }

  /** Whether this very object is registered as a tool. */
  isRegistered(tool: object | null): boolean {
    return tool !== null && this.originals.has(tool);
  }

  names(): string[] {
    return [...this.tools.keys()];
  }

  onChange(listener: () => void): Disposable {
    return this.listeners.add(listener);
  }

  find(name: string): ParsedTool | undefined {
    return this.tools.get(name);
  }

  /** In order of registration. */
  list(): ToolInfo[] {
    return [...this.tools.values()].map(({ info }) => info());
  }

  findVisible(image: string, name: string): ParsedTool | undefined {
    return this.isVisible(image, name) ? this.find(name) : undefined;
  }

  listVisible(image: string): ToolInfo[] {
    return this.list().filter(({ name }) => this.isVisible(image, name));
  }

  visibleNames(image: string): string[] {
    return [...this.tools.keys()].filter((name) => this.isVisible(image, name));
  }

  /** To be called for a call of a tool that the process does not see. */
  noteMissed(name: string, pid: Pid): void {
    if (!this.tools.has(name) && !this.missed.has(name) && this.missed.size < missedMax) this.missed.set(name, pid);
  }

  /** A host whose processes run before its tools are there has them refused for no reason that a model can know. */
  private tellIfLate(tool: string): void {
    const pid = this.missed.get(tool);
    if (pid === undefined) return;
    this.missed.delete(tool);
    const advice = 'register tools before processes run: createKernel({ node: { start: false } }), then kernel.start()';
    this.logger.warn({ tool, pid }, `tool ${tool} was registered after process ${pid} was refused it: ${advice}`);
  }

  private isVisible(image: string, name: string): boolean {
    const table = this.images.toolsOf(image);
    return table === undefined || table.some((entry) => matchesToolEntry(entry, name));
  }
}

function alreadyRegistered(name: string): ToolError {
  return new ToolError('CONFLICT', `There is a tool ${JSON.stringify(name)} already.`, {
    facts: { tool: name },
    hint: 'Give the new one another name, or dispose of what register gave back.',
  });
}
