import { StoreError } from '../../base/errors.js';

export function storeClosed(): StoreError {
  return new StoreError('KERNEL_CLOSED', 'The kernel has been shut down.', {
    hint: 'Open a new one with createKernel.',
  });
}
