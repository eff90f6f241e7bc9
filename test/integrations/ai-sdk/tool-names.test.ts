import { describe, expect, it } from 'vitest';
import { toolNames } from '../../../src/integrations/ai-sdk/index.js';

const names = (...tools: string[]) => Object.fromEntries(toolNames(tools.map((name) => ({ name }))));

describe('the names that a model calls tools by', () => {
  it('have the letters that providers take, and lead back to the tools', () => {
    expect(names('fs.read', 'mcp/fs/read_file', 'add', 'web-search')).toEqual({
      fs_read: 'fs.read',
      mcp_fs_read_file: 'mcp/fs/read_file',
      add: 'add',
      'web-search': 'web-search',
    });
  });

  it('are told apart where two tools would have the same one, and what is fine as it is stays', () => {
    const found = names('a.b', 'a/b', 'a_b');
    expect(Object.values(found).sort()).toEqual(['a.b', 'a/b', 'a_b']);
    expect(found.a_b).toBe('a_b');
    for (const alias of Object.keys(found)) expect(alias).toMatch(/^a_b(_[0-9a-f]{8})?$/);
    expect(names('a_b', 'a/b', 'a.b')).toEqual(found);
  });

  it('are told apart also from a tool that has taken the name of the hash', () => {
    const [taken = ''] = Object.keys(names('a.b', 'a_b')).filter((alias) => alias !== 'a_b');
    const found = names('a.b', 'a_b', taken);
    expect(found[taken]).toBe(taken);
    expect(Object.keys(found)).toHaveLength(3);
  });

  it('are at most 64 letters, also of tools that differ at their ends only', () => {
    const long = 'x'.repeat(100);
    const found = names(`${long}1`, `${long}2`, 'y'.repeat(65), 'z'.repeat(64));
    expect(Object.keys(found)).toHaveLength(4);
    for (const alias of Object.keys(found)) expect(alias).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    expect(found['z'.repeat(64)]).toBe('z'.repeat(64));
  });
});
