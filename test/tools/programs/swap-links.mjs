// Swaps a folder, and a file, for a link to another place and back, as fast as it can, until it is ended.
// Arguments: the workspace, with `data/dir`, `data/file`, `spare/dir` (a link) and `spare/file` (a link) in it.
import { mkdirSync, renameSync } from 'node:fs';
import path from 'node:path';

const [workspace = '.'] = process.argv.slice(2);
const place = (...names) => path.join(workspace, ...names);
let swaps = 0;

/** Somebody may have put something of that name there meanwhile: it is taken out of the way. */
function move(from, to) {
  try {
    renameSync(from, to);
  } catch {
    const trash = place('trash', String(swaps));
    mkdirSync(trash, { recursive: true });
    renameSync(to, path.join(trash, path.basename(to)));
    renameSync(from, to);
  }
}

process.stdout.write('ready\n');
process.on('SIGTERM', () => {
  process.stdout.write(`${swaps}\n`);
  process.exit(0);
});

function swapFor(turns) {
  for (let turn = 0; turn < turns; turn++) {
    for (const name of ['dir', 'file']) {
      move(place('data', name), place('spare', 'held'));
      move(place('spare', name), place('data', name));
      move(place('data', name), place('spare', name));
      move(place('spare', 'held'), place('data', name));
      swaps++;
    }
  }
  // Whom it is to disturb has to come to his turn, too.
  setTimeout(() => swapFor(turns), 1);
}
swapFor(25);
