import { inject, injectable } from 'inversify';
import type { ToolInfo } from '../../kernel/face/process-tools.js';
import { MemoryImageRegistry } from '../../runtime/image/image-registry.js';
import type { ParsedTool } from '../tool-definition.js';
import { ToolRegistry } from '../tool-registry.js';

/** Which tools the processes of an image can see. Seeing one is not authority to call it. */
@injectable()
export class VisibleTools {
  constructor(
    @inject(ToolRegistry) private readonly registry: ToolRegistry,
    @inject(MemoryImageRegistry) private readonly images: MemoryImageRegistry,
  ) {}

  list(image: string): ToolInfo[] {
    return this.registry.list().filter(({ name }) => this.sees(image, name));
  }

  names(image: string): string[] {
    return this.registry.names().filter((name) => this.sees(image, name));
  }

  find(image: string, name: string): ParsedTool | undefined {
    return this.sees(image, name) ? this.registry.find(name) : undefined;
  }

  private sees(image: string, name: string): boolean {
    const table = this.images.toolsOf(image);
    return table === undefined || table.some((entry) => isAbout(entry, name));
  }
}

/** Whether an entry of a table, a name or `NAME/**`, is about this tool. */
function isAbout(entry: string, name: string): boolean {
  return entry.endsWith('/**') ? name.startsWith(entry.slice(0, -2)) : entry === name;
}
