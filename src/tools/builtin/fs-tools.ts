import { type KernelFiles, noKernelFiles } from '../../kernel/workspace/kernel-files.js';
import { defaultLookupMode, type LookupMode } from '../files/open-folder.js';
import type { Tool } from '../tool.js';
import { fsDelete } from './fs-delete.js';
import { fsList } from './fs-list.js';
import { fsRead } from './fs-read.js';
import { fsSearch } from './fs-search.js';
import { fsStat } from './fs-stat.js';
import { fsWrite } from './fs-write.js';

/** The tools for files of the workspace. None of them follows a link that was created after the call was authorized. */
export function fsTools(lookupMode: LookupMode = defaultLookupMode, kernelFiles: KernelFiles = noKernelFiles): Tool[] {
  return [fsRead, fsWrite, fsList, fsStat, fsDelete, fsSearch].map((tool) => tool({ lookupMode, kernelFiles }));
}
