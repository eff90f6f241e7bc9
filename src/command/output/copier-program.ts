/**
 * The program of the process that copies the output of commands with a limit, for Node.js without any module of its own. It
 * reads lines of JSON: `caps` are the bytes that the `commands` may write together, by account. It appends what comes
 * through the pipes of the commands to their files, and one byte more than allowed: that byte shows that the limit was
 * passed, and nothing is read any more. It tells so at once and with every new state, by the version of that. When its input ends because the kernel is gone, it goes on until all pipes are
 * closed, and closes those of commands that pass their limit.
 */
export const copierProgram = `
const fs = require('node:fs');
const net = require('node:net');
const { O_RDONLY, O_NONBLOCK, O_RDWR, O_APPEND } = fs.constants;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {});
process.stdout.on('error', () => {});
process.stdin.on('error', () => {});

const commands = new Map();
const caps = {};
let version = 0;
let isAlone = false;

function answer(message) {
  process.stdout.write(JSON.stringify(message) + '\\n');
}

function roomOf({ accounts }) {
  let room = Infinity;
  for (const account of accounts) {
    let left = account in caps ? caps[account] : Infinity;
    for (const other of commands.values()) if (other.accounts.includes(account)) left -= other.written;
    room = Math.min(room, left);
  }
  return room;
}

function openStream(command, { pipe, file }) {
  let output;
  let input;
  try {
    // A command has its own files open for writing alone: this is how the two are told apart.
    output = fs.openSync(file, O_RDWR | O_APPEND);
    command.written += fs.fstatSync(output).size;
    input = fs.openSync(pipe, O_RDONLY | O_NONBLOCK);
  } catch {
    if (output !== undefined) fs.closeSync(output);
    return;
  }
  const socket = new net.Socket({ fd: input, readable: true, writable: false });
  command.streams.add(socket);
  socket.on('data', (chunk) => {
    command.chunks++;
    const length = Math.min(chunk.length, Math.max(0, roomOf(command)) + 1);
    try {
      for (let at = 0; at < length; ) {
        const written = fs.writeSync(output, chunk, at, length - at);
        at += written;
        command.written += written;
      }
    } catch {
      // No space is left, or the like: the command finds its pipe closed.
      socket.destroy();
      return;
    }
    if (roomOf(command) >= 0) return;
    command.isOver = true;
    if (isAlone) return closeStreams(command);
    socket.pause();
    if (length < chunk.length) socket.unshift(chunk.subarray(length));
    answer({ over: command.n, version });
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    command.streams.delete(socket);
    fs.closeSync(output);
    fs.rmSync(pipe, { force: true });
    endIfDone();
  });
}

function closeStreams({ streams }) {
  for (const socket of [...streams]) socket.destroy();
}

function endIfDone() {
  if (isAlone && [...commands.values()].every(({ streams }) => streams.size === 0)) process.exit(0);
}

function update(state) {
  version = state.version;
  Object.assign(caps, state.caps);
  const listed = new Set(state.commands.map(({ n }) => n));
  for (const [n, command] of commands) {
    if (listed.has(n) || command.isSettled) continue;
    // The kernel has charged the output so far; output of processes that it has left behind counts from here on.
    command.isSettled = true;
    command.written = 0;
    if (command.streams.size === 0) commands.delete(n);
  }
  for (const { n, accounts, streams } of state.commands) {
    const known = commands.get(n);
    if (known !== undefined) known.accounts = accounts;
    else {
      const command = { n, accounts, written: 0, chunks: 0, isOver: false, isSettled: false, streams: new Set() };
      commands.set(n, command);
      for (const stream of streams) openStream(command, stream);
    }
  }
  for (const command of commands.values()) {
    if (!command.isOver) continue;
    if (roomOf(command) < 0) {
      answer({ over: command.n, version });
      continue;
    }
    command.isOver = false;
    for (const socket of command.streams) socket.resume();
  }
}

/** Answers when two turns of the event loop have shown that nothing more is in the pipes, or ten have emptied them. */
function drain(n, chunks, quietTurns, turns) {
  const command = commands.get(n);
  const isDone = command === undefined || command.streams.size === 0 || command.isOver;
  if (isDone || quietTurns === 2 || turns === 10) {
    return answer({ drained: n, isOver: command !== undefined && command.isOver });
  }
  const quietNext = command.chunks === chunks ? quietTurns + 1 : 0;
  setImmediate(() => drain(n, command.chunks, quietNext, turns + 1));
}

let pending = '';
process.stdin.setEncoding('utf8');
process.stdin.on('data', (text) => {
  const lines = (pending + text).split('\\n');
  pending = lines.pop();
  for (const line of lines) {
    const message = JSON.parse(line);
    if (message.state !== undefined) update(message.state);
    else if (message.drain !== undefined) drain(message.drain, -1, 0, 0);
    else if (commands.has(message.close)) closeStreams(commands.get(message.close));
  }
});
process.stdin.on('close', () => {
  isAlone = true;
  for (const command of commands.values()) if (command.isOver) closeStreams(command);
  endIfDone();
});
`;
