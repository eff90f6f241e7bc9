import type { ModelAnswer, ModelPart } from './model-call.js';
import { countsIn } from './reported-usage.js';

/** Puts the parts of a stream together to an answer, as `doGenerate` would have given it. */
export class PartCollector {
  private readonly content: ModelPart[] = [];
  /** The places of texts that have begun, by their ids. */
  private readonly open = new Map<string, number>();
  private finish: ModelPart | undefined;
  private warnings: unknown;
  private response: object = {};

  /** Throws the error of an `error` part. */
  add(part: ModelPart): void {
    switch (part.type) {
      case 'stream-start':
        this.warnings = part.warnings;
        return;
      case 'response-metadata':
        this.response = { ...this.response, ...part };
        return;
      case 'text-start':
      case 'reasoning-start':
        this.begin(part);
        return;
      case 'text-delta':
      case 'reasoning-delta':
        this.extend(part);
        return;
      case 'text-end':
      case 'reasoning-end':
        this.extend({ ...part, delta: '' });
        return;
      case 'tool-input-start':
      case 'tool-input-delta':
      case 'tool-input-end':
      case 'raw':
        return;
      case 'finish':
        this.finish = part;
        return;
      case 'error':
        throw part.error;
      default:
        this.content.push(part);
    }
  }

  /** Whether there was neither content nor a report: servers that do not stream give such an empty stream. */
  get isEmpty(): boolean {
    return this.content.length === 0 && countsIn(this.finish?.usage).inputTokens === undefined;
  }

  get isFinished(): boolean {
    return this.finish !== undefined;
  }

  answer(): ModelAnswer {
    const { finishReason, usage, providerMetadata } = this.finish ?? noFinish;
    const { warnings, response } = this;
    return { content: this.content, finishReason, usage, providerMetadata, warnings, response };
  }

  private begin(part: ModelPart): void {
    const type = part.type.slice(0, -'-start'.length);
    this.open.set(keyOf(type, part), this.content.length);
    this.content.push({ type, text: '', ...metadataOf(part) });
  }

  private extend(part: ModelPart): void {
    const type = part.type.replace(/-(?:delta|end)$/, '');
    if (!this.open.has(keyOf(type, part))) this.begin({ ...part, type: `${type}-start` });
    const index = this.open.get(keyOf(type, part)) ?? 0;
    const text = `${String(this.content[index]?.text ?? '')}${String(part.delta ?? '')}`;
    this.content[index] = { ...this.content[index], type, text, ...metadataOf(part) };
  }
}

const noFinish: Partial<ModelPart> = {};

function keyOf(type: string, { id }: ModelPart): string {
  return `${type} ${String(id)}`;
}

function metadataOf({ providerMetadata }: ModelPart): object {
  return providerMetadata === undefined ? {} : { providerMetadata };
}
