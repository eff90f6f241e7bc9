import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, statSync, symlinkSync, utimesSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { refusal } from '../support/kernel.js';
import { findInconsistencies } from '../support/store-consistency.js';
import { everyRight, fileFixture, makePipe } from '../support/tools/file-fixture.js';

const denied = { code: 'CAPABILITY_DENIED' };
const invalid = { code: 'INVALID_PATH' };

describe.each(['descriptor', 'path'] as const)('the file tools, by %s', (lookupMode) => {
  describe('fs.read', () => {
    it('gives a file whole, or the part that is asked for, cut between characters', async () => {
      const { call, spawnHolding, write } = await fileFixture(lookupMode);
      write('notes/a.txt', 'one wörd\n');
      const pid = await spawnHolding('fs:notes/**', ['read']);
      const read = (args: object) => call(pid, 'fs.read', { path: 'notes/a.txt', ...args });
      const whole = { content: 'one wörd\n', encoding: 'utf8', size: 10, offset: 0, next: 10, truncated: false };
      expect(await read({})).toEqual(whole);
      expect(await read({ limit: 6 })).toEqual({ ...whole, content: 'one w', next: 5, truncated: true });
      expect(await read({ offset: 5 })).toEqual({ ...whole, content: 'örd\n', offset: 5 });
      expect(await read({ offset: 5, limit: 2 })).toEqual({
        ...whole,
        content: 'ö',
        offset: 5,
        next: 7,
        truncated: true,
      });
      expect(await read({ offset: 50 })).toEqual({ ...whole, content: '', offset: 50, next: 50 });
      expect(await read({ offset: 5, limit: 1 })).toMatchObject({ content: 'ww==', encoding: 'base64', next: 6 });
    });

    it('is refused without the right to read, whatever else may be done with the file', async () => {
      const { call, spawnHolding, write } = await fileFixture(lookupMode);
      write('notes/a.txt', 'text');
      const pid = await spawnHolding('fs:**', ['write', 'create', 'delete', 'list']);
      expect(await refusal(call(pid, 'fs.read', { path: 'notes/a.txt' }))).toMatchObject({
        code: 'CAPABILITY_DENIED',
        facts: { right: 'read', resource: 'fs:notes/a.txt' },
      });
    });

    it('gives what is not text as base64, and an empty file as no text', async () => {
      const { call, spawnHolding, write } = await fileFixture(lookupMode);
      const bytes = Buffer.from([0x89, 0x50, 0x00, 0xff]);
      write('picture', bytes);
      write('empty', '');
      const pid = await spawnHolding('fs:**');
      expect(await call(pid, 'fs.read', { path: 'picture' })).toMatchObject({
        content: bytes.toString('base64'),
        encoding: 'base64',
        size: 4,
      });
      expect(await call(pid, 'fs.read', { path: 'empty' })).toMatchObject({ content: '', encoding: 'utf8', next: 0 });
    });

    it('gives a large file in parts that together are the file', async () => {
      const { call, spawnHolding, write } = await fileFixture(lookupMode);
      const text = `${'äöü\u0001€'.repeat(90_000)}\n`;
      write('large', text);
      const pid = await spawnHolding('fs:**');
      let read = '';
      for (let offset = 0, isOver = false; !isOver; ) {
        const part = await call(pid, 'fs.read', { path: 'large', offset, limit: 512 * 1024 });
        read += part.content;
        offset = Number(part.next);
        isOver = part.truncated === false;
      }
      expect(read === text).toBe(true);
      expect(await call(pid, 'fs.read', { path: 'large' })).toMatchObject({ truncated: true, next: 65_536 });
    });

    it('gives less of a text that would be too long as JSON', async () => {
      const { call, spawnHolding, write } = await fileFixture(lookupMode);
      write('controls', '\u0001'.repeat(512 * 1024));
      const pid = await spawnHolding('fs:**');
      const { content, next } = await call(pid, 'fs.read', { path: 'controls', limit: 512 * 1024 });
      expect([String(content).length, next]).toEqual([128 * 1024, 128 * 1024]);
    });

    it('refuses what is no regular file, without waiting for it', async () => {
      const { call, spawnHolding, workspace } = await fileFixture(lookupMode);
      mkdirSync(path.join(workspace, 'folder'));
      makePipe(workspace, 'pipe');
      const pid = await spawnHolding('fs:**');
      for (const name of ['folder', 'pipe', '.', 'missing', 'missing/file', 'pipe/file']) {
        expect([name, await refusal(call(pid, 'fs.read', { path: name }))]).toMatchObject([name, invalid]);
      }
      expect(await refusal(call(pid, 'fs.write', { path: 'pipe', content: '' }))).toMatchObject(invalid);
      expect(await refusal(call(pid, 'fs.write', { path: 'folder', content: '' }))).toMatchObject(invalid);
      expect(await refusal(call(pid, 'fs.write', { path: '.', content: '' }))).toMatchObject(invalid);
      expect(await call(pid, 'fs.stat', { path: 'pipe' })).toMatchObject({ type: 'other' });
    });

    it('refuses a limit beyond the bound and arguments that it does not know', async () => {
      const { call, spawnHolding, write } = await fileFixture(lookupMode);
      write('a', 'text');
      const pid = await spawnHolding('fs:**');
      const bad = [{ limit: 512 * 1024 + 1 }, { limit: 0 }, { offset: -1 }, { offset: 0.5 }, { path: 5 }, { more: 1 }];
      for (const args of bad) {
        const refused = await refusal(call(pid, 'fs.read', { path: 'a', ...args }));
        expect([args, refused]).toMatchObject([args, { code: 'INVALID_INPUT' }]);
      }
    });
  });

  describe('fs.write', () => {
    it('that is refused does not tell whether the file is there', async () => {
      const { kernel, call, spawnHolding, write } = await fileFixture(lookupMode);
      const refusalFor = async (pid: string) => {
        const error = await call(pid, 'fs.write', { path: 'notes/a.txt', content: 'x' }).catch((caught) => caught);
        return { ...error.toJSON(), message: error.message };
      };
      const noRights = await spawnHolding('fs:other/**');
      const otherRights = await spawnHolding('fs:notes/**', ['read', 'delete', 'list']);
      const forbidden = await spawnHolding('fs:**');
      await kernel.capabilities.deny(forbidden, { resource: 'fs:notes/**', rights: ['write', 'create'] });
      const pids = [noRights, otherRights, forbidden];
      const before = await Promise.all(pids.map(refusalFor));
      write('notes/a.txt', 'text');
      expect(await Promise.all(pids.map(refusalFor))).toEqual(before);
      for (const refused of before)
        expect(refused).toMatchObject({ code: 'CAPABILITY_DENIED', facts: { right: 'write' } });
      const { items } = await kernel.audit.list({ outcome: 'refused' });
      expect(new Set(items.map(({ right }) => right))).toEqual(new Set(['write']));
    });

    it('needs the right to create where the file is missing, and the right to write where it is there', async () => {
      const { call, spawnHolding, write, read } = await fileFixture(lookupMode);
      const creating = await spawnHolding('fs:**', ['create']);
      const writing = await spawnHolding('fs:**', ['write']);
      write('there', 'old');
      expect(await call(creating, 'fs.write', { path: 'new', content: 'x' })).toMatchObject({ created: true });
      expect(await call(writing, 'fs.write', { path: 'there', content: 'x' })).toMatchObject({ created: false });
      expect(await refusal(call(creating, 'fs.write', { path: 'there', content: 'y' }))).toMatchObject(denied);
      expect(await refusal(call(writing, 'fs.write', { path: 'missing', content: 'y' }))).toMatchObject(denied);
      expect(read('there')).toBe('x');
    });

    it('makes a file with the folders above it by the right to create, and replaces one by the right to write', async () => {
      const { call, spawnHolding, read, workspace } = await fileFixture(lookupMode);
      const [maker, writer] = [await spawnHolding('fs:**', ['create']), await spawnHolding('fs:**', ['write'])];
      const write = (pid: string, content: string) => call(pid, 'fs.write', { path: 'a/b/c.txt', content });
      expect(await refusal(write(writer, 'first'))).toMatchObject({ ...denied, facts: { right: 'create' } });
      expect(readdirSync(workspace)).toEqual([]);
      expect(await write(maker, 'first')).toEqual({ size: 5, created: true });
      expect(await refusal(write(maker, 'second'))).toMatchObject({ ...denied, facts: { right: 'write' } });
      expect(read('a/b/c.txt')).toBe('first');
      expect(await write(writer, 'sécond')).toEqual({ size: 7, created: false });
      expect(read('a/b/c.txt')).toBe('sécond');
      expect(readdirSync(path.join(workspace, 'a/b'))).toEqual(['c.txt']);
    });

    it('keeps the mode of a file that it replaces', async () => {
      const { call, spawnHolding, write } = await fileFixture(lookupMode);
      const file = write('run.sh', 'old');
      chmodSync(file, 0o751);
      await call(await spawnHolding('fs:**'), 'fs.write', { path: 'run.sh', content: 'new' });
      expect((statSync(file).mode & 0o777).toString(8)).toBe('751');
    });

    it('writes through a link the file that it leads to, and the link stays', async () => {
      const { call, spawnHolding, write, read, workspace } = await fileFixture(lookupMode);
      write('real.txt', 'old');
      symlinkSync('real.txt', path.join(workspace, 'link'));
      const pid = await spawnHolding('fs:**');
      expect(await call(pid, 'fs.write', { path: 'link', content: 'new' })).toEqual({ size: 3, created: false });
      expect([read('real.txt'), lstatSync(path.join(workspace, 'link')).isSymbolicLink()]).toEqual(['new', true]);
    });

    it('puts one of several texts that are written at the same time, whole', async () => {
      const { call, spawnHolding, write, read, workspace } = await fileFixture(lookupMode);
      write('file', '');
      const pid = await spawnHolding('fs:**');
      const texts = Array.from({ length: 20 }, (_, index) => String.fromCharCode(97 + index).repeat(100_000));
      await Promise.all(texts.map((content) => call(pid, 'fs.write', { path: 'file', content })));
      expect(texts).toContain(read('file'));
      expect(readdirSync(workspace)).toEqual(['file']);
    });

    it('makes a file once when several make it at the same time', async () => {
      const { call, spawnHolding, read, workspace } = await fileFixture(lookupMode);
      const pid = await spawnHolding('fs:**', ['create']);
      const texts = Array.from({ length: 10 }, (_, index) => `text ${index}`);
      const made = await Promise.allSettled(texts.map((content) => call(pid, 'fs.write', { path: 'file', content })));
      const winner = made.findIndex(({ status }) => status === 'fulfilled');
      expect(read('file')).toBe(texts[winner]);
      const codes = made.flatMap((one) => (one.status === 'rejected' ? [one.reason.code] : []));
      expect(codes).toHaveLength(9);
      expect(codes.filter((code) => code !== 'CONFLICT' && code !== 'CAPABILITY_DENIED')).toEqual([]);
      expect(readdirSync(workspace)).toEqual(['file']);
    });

    it('takes about a mebibyte and refuses more, and then leaves everything as it is', async () => {
      const { call, spawnHolding, write, read, workspace } = await fileFixture(lookupMode);
      write('file', 'old');
      const pid = await spawnHolding('fs:**');
      const tooLong = refusal(call(pid, 'fs.write', { path: 'file', content: 'x'.repeat(1024 * 1024 + 1) }));
      expect(await tooLong).toMatchObject({ code: 'INVALID_INPUT' });
      expect(read('file')).toBe('old');
      expect(await call(pid, 'fs.write', { path: 'file', content: 'x'.repeat(1_000_000) })).toMatchObject({
        size: 1_000_000,
      });
      expect(readdirSync(workspace)).toEqual(['file']);
    });
  });

  describe('fs.list', () => {
    it('gives the entries of a folder by name, with type and size, and those of a link as a link', async () => {
      const { call, spawnHolding, outside, write, workspace } = await fileFixture(lookupMode);
      write('src/b.ts', 'four');
      write('src/a/deep.ts', '');
      symlinkSync(outside, path.join(workspace, 'src/out'));
      const pid = await spawnHolding('fs:src/**', ['list']);
      expect(await call(pid, 'fs.list', { path: 'src' })).toEqual({
        entries: [
          { name: 'a', type: 'directory', size: expect.any(Number) },
          { name: 'b.ts', type: 'file', size: 4 },
          { name: 'out', type: 'link', size: expect.any(Number) },
        ],
        truncated: false,
      });
      expect(await refusal(call(pid, 'fs.list', { path: '.' }))).toMatchObject(denied);
      expect(await refusal(call(pid, 'fs.list', { path: 'src/out' }))).toMatchObject(denied);
      expect(await refusal(call(pid, 'fs.list', { path: 'src/b.ts' }))).toMatchObject(invalid);
      expect(await refusal(call(await spawnHolding('fs:src/**', ['read']), 'fs.list', { path: 'src' }))).toMatchObject(
        denied,
      );
    });

    it('gives a thousand entries at most, and goes on after one of them', async () => {
      const { call, spawnHolding, write } = await fileFixture(lookupMode);
      const names = Array.from({ length: 1_005 }, (_, index) => `f${String(index).padStart(4, '0')}`);
      for (const name of names) write(`many/${name}`, '');
      const pid = await spawnHolding('fs:**');
      const first = await call(pid, 'fs.list', { path: 'many' });
      const rest = await call(pid, 'fs.list', { path: 'many', after: 'f0999' });
      const namesOf = ({ entries }: { entries?: unknown }) => (entries as { name: string }[]).map(({ name }) => name);
      expect([namesOf(first), first.truncated]).toEqual([names.slice(0, 1_000), true]);
      expect([namesOf(rest), rest.truncated]).toEqual([names.slice(1_000), false]);
    });
  });

  describe('fs.stat', () => {
    it('tells what is there, of a link what it leads to, and is refused without the right to read', async () => {
      const { call, spawnHolding, write, workspace } = await fileFixture(lookupMode);
      const file = write('a/file', 'four');
      chmodSync(file, 0o640);
      utimesSync(file, 1_000, 1_000);
      symlinkSync('a/file', path.join(workspace, 'link'));
      const pid = await spawnHolding('fs:**', ['read']);
      const stats = { type: 'file', size: 4, modifiedAt: 1_000_000, mode: '640' };
      expect(await call(pid, 'fs.stat', { path: 'a/file' })).toEqual(stats);
      expect(await call(pid, 'fs.stat', { path: 'link' })).toEqual(stats);
      expect(await call(pid, 'fs.stat', { path: '.' })).toMatchObject({ type: 'directory' });
      expect(await refusal(call(pid, 'fs.stat', { path: 'b' }))).toMatchObject(invalid);
      const lister = await spawnHolding('fs:**', ['list']);
      expect(await refusal(call(lister, 'fs.stat', { path: 'a/file' }))).toMatchObject(denied);
    });
  });

  describe('fs.delete', () => {
    it('deletes a file and an empty folder, and is refused a full one and the workspace', async () => {
      const { call, spawnHolding, write, workspace } = await fileFixture(lookupMode);
      write('a/file', '');
      const pid = await spawnHolding('fs:**', ['delete']);
      const remove = (name: string) => call(pid, 'fs.delete', { path: name });
      expect(await refusal(remove('a'))).toMatchObject({ code: 'TOOL_FAILED', facts: { path: 'a' } });
      expect(await remove('a/file')).toEqual({ deleted: true });
      expect(await refusal(remove('a/file'))).toMatchObject(invalid);
      expect(await remove('a')).toEqual({ deleted: true });
      expect(await refusal(remove('.'))).toMatchObject(invalid);
      expect(existsSync(workspace)).toBe(true);
    });

    it('is refused without the right to delete', async () => {
      const { call, spawnHolding, write, read } = await fileFixture(lookupMode);
      write('file', 'text');
      const pid = await spawnHolding('fs:**', ['read', 'write', 'create', 'list']);
      expect(await refusal(call(pid, 'fs.delete', { path: 'file' }))).toMatchObject(denied);
      expect(read('file')).toBe('text');
    });

    it('deletes a link and not what it leads to, if no other link leads to it', async () => {
      const { call, spawnHolding, write, read, workspace } = await fileFixture(lookupMode);
      write('real/file', 'text');
      for (const [target, name] of [
        ['file', 'real/link'],
        ['real', 'folder'],
      ] as const) {
        symlinkSync(target, path.join(workspace, name));
      }
      const pid = await spawnHolding('fs:**');
      expect(await refusal(call(pid, 'fs.delete', { path: 'folder/link' }))).toMatchObject(invalid);
      expect(await call(pid, 'fs.delete', { path: 'real/link' })).toEqual({ deleted: true });
      expect(read('real/file')).toBe('text');
      expect(await call(pid, 'fs.delete', { path: 'folder/file' })).toEqual({ deleted: true });
      expect(await call(pid, 'fs.delete', { path: 'folder' })).toEqual({ deleted: true });
      expect(readdirSync(workspace)).toEqual(['real']);
    });
  });

  describe('fs.search', () => {
    it('finds a literal text in the files below a folder, with paths as the caller sees them', async () => {
      const { call, spawnHolding, write } = await fileFixture(lookupMode);
      write('src/a.ts', 'let x = f(a.*b);\nnothing\nF(A.*B)\r\n');
      write('src/deep/b.ts', `${'-'.repeat(1_000)}f(a.*b)${'-'.repeat(1_000)}`);
      write('src/other.ts', 'f(axxb)');
      write('lib/c.ts', 'f(a.*b)');
      const pid = await spawnHolding('fs:src/**', ['list', 'read'], 'src');
      const [first, second] = [
        { path: 'a.ts', line: 1, text: 'let x = f(a.*b);' },
        { path: 'deep/b.ts', line: 1, text: expect.stringMatching(/^-+f\(a\.\*b\)-+$/) },
      ];
      const report = { files: 3, skipped: 0, truncated: false };
      expect(await call(pid, 'fs.search', { path: '.', pattern: 'f(a.*b)' })).toEqual({
        matches: [first, second],
        ...report,
      });
      expect(await call(pid, 'fs.search', { path: '.', pattern: 'f(a.*b)', ignoreCase: true })).toEqual({
        matches: [first, { path: 'a.ts', line: 3, text: 'F(A.*B)' }, second],
        ...report,
      });
      expect(await call(pid, 'fs.search', { path: './deep/b.ts', pattern: 'f(a.*b)' })).toMatchObject({
        matches: [{ path: 'deep/b.ts' }],
        files: 1,
      });
      expect(await refusal(call(pid, 'fs.search', { path: '..', pattern: 'f' }))).toMatchObject(denied);
      expect(await refusal(call(pid, 'fs.search', { path: '.', pattern: 'a\nb' }))).toMatchObject({
        code: 'INVALID_INPUT',
      });
    });

    it('needs the right to list and the right to read', async () => {
      const { call, spawnHolding, write } = await fileFixture(lookupMode);
      write('src/a.ts', 'text');
      for (const rights of [['list'], ['read']] as const) {
        const pid = await spawnHolding('fs:**', rights);
        expect(await refusal(call(pid, 'fs.search', { path: 'src', pattern: 'text' }))).toMatchObject(denied);
      }
    });

    it('leaves out what a rule forbids below, by its own name and by that of a link to the folder', async () => {
      const { kernel, call, spawnHolding, write, workspace } = await fileFixture(lookupMode);
      for (const name of ['src/a', 'src/private/b', 'src/private/deep/c', 'src/d', 'src/hidden/e']) write(name, 'text');
      symlinkSync('src', path.join(workspace, 'link'));
      const pid = await spawnHolding('fs:**');
      const found = async (folder: string) => {
        const { matches, files } = await call(pid, 'fs.search', { path: folder, pattern: 'text' });
        return [(matches as { path: string }[]).map((match) => match.path), files];
      };
      await kernel.capabilities.deny(pid, { resource: 'fs:src/private/**', rights: ['read'] });
      await kernel.capabilities.deny(pid, { resource: 'fs:src/hidden', rights: ['list'] });
      expect(await found('.')).toEqual([['src/a', 'src/d'], 2]);
      expect(await found('link')).toEqual([['link/a', 'link/d'], 2]);
      await kernel.capabilities.deny(pid, { resource: 'fs:link/d', rights: ['read'] });
      expect(await found('link')).toEqual([['link/a'], 1]);
      expect(await found('src')).toEqual([['src/a', 'src/d'], 2]);
    });

    it('follows no links and skips what is binary, too large or no file', async () => {
      const { call, spawnHolding, outside, write, workspace } = await fileFixture(lookupMode);
      write('a', 'the secret');
      write('binary', Buffer.from('the secret\0'));
      write('large', `the secret${' '.repeat(4_000_000)}`);
      symlinkSync(outside, path.join(workspace, 'out'));
      symlinkSync(path.join(outside, 'secret'), path.join(workspace, 'secret'));
      symlinkSync('.', path.join(workspace, 'again'));
      makePipe(workspace, 'pipe');
      expect(await call(await spawnHolding('fs:**'), 'fs.search', { path: '.', pattern: 'secret' })).toEqual({
        matches: [{ path: 'a', line: 1, text: 'the secret' }],
        files: 1,
        skipped: 2,
        truncated: false,
      });
    });

    it('gives two hundred lines at most, and does not go deeper than its bound', async () => {
      const { call, spawnHolding, write } = await fileFixture(lookupMode);
      write('many/a', 'text\n'.repeat(150));
      write('many/b', 'text\n'.repeat(50));
      const pid = await spawnHolding('fs:**');
      const search = (folder: string) => call(pid, 'fs.search', { path: folder, pattern: 'text' });
      expect(await search('many')).toMatchObject({ matches: { length: 200 }, truncated: false });
      write('many/b', 'text\n'.repeat(51));
      expect(await search('many')).toMatchObject({ matches: { length: 200 }, truncated: true });
      write(`deep/${'d/'.repeat(40)}file`, 'text');
      write('deep/e', 'text');
      expect(await search('deep')).toMatchObject({ matches: [{ path: 'deep/e' }], truncated: true });
    });
  });

  describe('a path', () => {
    it('is seen from the working directory; an absolute one is taken in its canonical spelling only', async () => {
      const { call, spawnHolding, write, workspace } = await fileFixture(lookupMode);
      write('src/app/a', 'text');
      const pid = await spawnHolding('fs:src/**', everyRight, 'src/app');
      for (const name of ['a', './a', '../app/a', 'x/../a', 'a/', path.join(workspace, 'src/app/a')]) {
        expect([name, await call(pid, 'fs.read', { path: name })]).toMatchObject([name, { content: 'text' }]);
      }
      const other = [`${workspace}/src//app/a`, `${workspace}/src/../src/app/a`, `${workspace}/./src/app/a`];
      for (const name of [...other, `${workspace}2/a`, `/${workspace}/src/app/a`, `${workspace}/`]) {
        expect([name, await refusal(call(pid, 'fs.read', { path: name }))]).toMatchObject([name, invalid]);
      }
      expect(await refusal(call(pid, 'fs.stat', { path: workspace }))).toMatchObject(denied);
      expect(await refusal(call(pid, 'fs.read', { path: '../../x' }))).toMatchObject(denied);
    });

    it('that leaves the workspace, or has no meaning there, is refused by every tool, and nothing is touched', async () => {
      const { kernel, outsideFiles, call, spawnHolding, outside, write, workspace } = await fileFixture(lookupMode);
      write('a', 'text');
      symlinkSync(outside, path.join(workspace, 'out'));
      symlinkSync(path.join(outside, 'secret'), path.join(workspace, 'secret'));
      symlinkSync(path.join(outside, 'missing'), path.join(workspace, 'escape'));
      symlinkSync('missing', path.join(workspace, 'nowhere'));
      symlinkSync('self', path.join(workspace, 'self'));
      const before = outsideFiles();
      const pid = await spawnHolding('fs:**');
      const spelled = [
        '',
        '../x',
        '..',
        '/etc',
        '/etc/passwd',
        'C:\\x',
        'C:/x',
        '~',
        '~/x',
        'a\0b',
        'a\\b',
        'a/../../x',
      ];
      const strange = ['a\u202eb', 'a\nb', 'x'.repeat(5_000), 'a*', '**', `${'x'.repeat(300)}/a`, '\ud800'];
      const linked = ['out', 'out/secret', 'out/new', 'out/new/deep', 'secret', 'escape', 'nowhere', 'self', 'self/a'];
      const codes = new Set(['INVALID_PATH', 'CAPABILITY_DENIED', 'INVALID_INPUT']);
      const more: Record<string, object> = { 'fs.write': { content: 'x' }, 'fs.search': { pattern: 'x' } };
      for (const tool of ['fs.read', 'fs.write', 'fs.list', 'fs.stat', 'fs.delete', 'fs.search']) {
        for (const name of [...spelled, ...strange, ...linked]) {
          const { code } = await refusal(call(pid, tool, { path: name, ...more[tool] }));
          expect([tool, name, code, codes.has(code)]).toEqual([tool, name, code, true]);
        }
      }
      for (const name of spelled) {
        expect([name, (await refusal(call(pid, 'fs.read', { path: name }))).code]).toEqual([name, 'INVALID_PATH']);
      }
      expect(outsideFiles()).toEqual(before);
      expect(readdirSync(workspace).sort()).toEqual(['a', 'escape', 'nowhere', 'out', 'secret', 'self']);
      expect(await findInconsistencies(kernel)).toEqual([]);
    });

    it('is held against whole names: src2 is not in src', async () => {
      const { call, spawnHolding, write } = await fileFixture(lookupMode);
      for (const name of ['src/x', 'src2/x', 'srcx']) write(name, 'text');
      const pid = await spawnHolding('fs:src/**');
      expect(await call(pid, 'fs.read', { path: 'src/x' })).toMatchObject({ content: 'text' });
      for (const name of ['src2/x', 'srcx', 'src/../src2/x', '.']) {
        for (const tool of ['fs.read', 'fs.stat', 'fs.delete']) {
          expect([name, await refusal(call(pid, tool, { path: name }))]).toMatchObject([name, denied]);
        }
      }
    });

    it('below a rule that forbids it is refused, though a capability allows it', async () => {
      const { kernel, call, spawnHolding, write, read } = await fileFixture(lookupMode);
      for (const name of ['src/a', 'src/private/b']) write(name, 'text');
      const pid = await spawnHolding('fs:src/**');
      await kernel.capabilities.deny(pid, { resource: 'fs:src/private/**', rights: everyRight });
      expect(await call(pid, 'fs.write', { path: 'src/a', content: 'new' })).toMatchObject({ size: 3 });
      const forbidden = ['src/private/b', 'src/private/new', 'src/x/../private/b'];
      for (const name of forbidden) {
        const refused = await refusal(call(pid, 'fs.write', { path: name, content: 'new' }));
        expect([name, refused]).toMatchObject([name, { ...denied, facts: { code: 'DENY_RULE' } }]);
      }
      expect(read('src/private/b')).toBe('text');
    });

    it('through a link within the workspace needs both places', async () => {
      const { call, spawnHolding, write, workspace } = await fileFixture(lookupMode);
      write('data/real/f', 'own');
      write('secret/f', 'secret');
      for (const [target, name] of [
        ['real', 'data/own'],
        ['../secret', 'data/other'],
      ] as const) {
        symlinkSync(target, path.join(workspace, name));
      }
      const [narrow, wide] = [await spawnHolding('fs:data/**'), await spawnHolding('fs:**')];
      expect(await call(narrow, 'fs.read', { path: 'data/own/f' })).toMatchObject({ content: 'own' });
      expect(await call(narrow, 'fs.write', { path: 'data/own/new/g', content: '' })).toMatchObject({ created: true });
      expect(existsSync(path.join(workspace, 'data/real/new/g'))).toBe(true);
      expect(await call(wide, 'fs.read', { path: 'data/other/f' })).toMatchObject({ content: 'secret' });
      for (const name of ['data/other/f', 'data/other/new']) {
        const write = call(narrow, 'fs.write', { path: name, content: 'x' });
        expect([name, await refusal(write)]).toMatchObject([name, denied]);
      }
      expect(await refusal(call(narrow, 'fs.read', { path: 'data/other/f' }))).toMatchObject(denied);
    });
  });

  it.runIf(process.platform === 'linux')('leave no descriptor open, whatever they are asked', async () => {
    const { call, spawnHolding, write, workspace } = await fileFixture(lookupMode);
    write('a/b/file', 'text');
    symlinkSync('b', path.join(workspace, 'a/link'));
    makePipe(workspace, 'a/pipe');
    const pid = await spawnHolding('fs:**');
    const open = () => readdirSync('/proc/self/fd').length;
    const round = async () => {
      for (const name of ['a/b/file', 'a/link/file', 'a', '.', 'a/pipe', 'a/none', 'a/b/file/below', '../x']) {
        for (const tool of ['fs.read', 'fs.list', 'fs.stat', 'fs.search', 'fs.write']) {
          const more = { 'fs.search': { pattern: 't' }, 'fs.write': { content: 'text' } }[tool] ?? {};
          await call(pid, tool, { path: name, ...more }).catch(() => undefined);
        }
        if (name !== 'a/b/file') await call(pid, 'fs.delete', { path: name }).catch(() => undefined);
      }
    };
    await round();
    const before = open();
    for (let rounds = 0; rounds < 5; rounds++) await round();
    expect(open()).toBeLessThanOrEqual(before + 2);
  });

  it('give up when nobody wants the result any more', async () => {
    const { kernel, call, spawnHolding, write } = await fileFixture(lookupMode);
    for (let index = 0; index < 300; index++) write(`many/f${index}`, 'text');
    const pid = await spawnHolding('fs:**');
    const controller = new AbortController();
    kernel.events.on('tool.called', () => controller.abort());
    const search = call(pid, 'fs.search', { path: 'many', pattern: 'x' }, { signal: controller.signal });
    expect(await refusal(search)).toMatchObject({ code: 'CANCELLED' });
  });
});
