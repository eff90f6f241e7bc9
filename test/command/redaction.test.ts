import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { commandLine, redactArguments } from '../../src/command/plan/redaction.js';

const shown = (...argv: string[]) => redactArguments(argv);

describe('a stored command line', () => {
  it('has no value of a flag, a variable, a header or a member that is named for a secret', () => {
    expect(shown('x', '--token', 'abc', '--verbose')).toEqual(['x', '--token', '[redacted]', '--verbose']);
    expect(shown('x', '--api-key=abc', '-password=a b c')).toEqual([
      'x',
      '--api-key=[redacted]',
      '-password=[redacted]',
    ]);
    expect(shown('env', 'DB_PASSWD=abc', 'HOME=/x')).toEqual(['env', 'DB_PASSWD=[redacted]', 'HOME=/x']);
    expect(shown('curl', '-H', 'Authorization: Bearer abc', 'X-Api-Key: abc')).toEqual([
      'curl',
      '-H',
      'Authorization:[redacted]',
      'X-Api-Key:[redacted]',
    ]);
    expect(shown('sh', '-c', 'export CREDENTIALS="a b"; x --secret abc | y "password": "abc"').at(-1)).toBe(
      'export CREDENTIALS=[redacted]; x --secret [redacted] | y "password": [redacted]',
    );
  });

  it('has no bearer token and no credentials of an address', () => {
    expect(shown('x', 'send Bearer abc.def now', 'Bearer', 'abc')).toEqual([
      'x',
      'send Bearer [redacted] now',
      'Bearer',
      '[redacted]',
    ]);
    expect(shown('git', 'clone', 'https://user:abc@host/repo?token=abc&page=2')).toEqual([
      'git',
      'clone',
      'https://[redacted]@host/repo?token=[redacted]&page=2',
    ]);
  });

  it('has none inside the text of a shell, however it is spelled', () => {
    const a = 'hunter2X9';
    const b = 'zebra7Q';
    const texts = [
      `curl -H "Authorization: ${a} ${b}" https://x`,
      `curl -H 'Cookie: a=${a}; c=${b}' https://x`,
      `curl -HCookie:\\ a=${a} https://x`,
      `curl -H "Authorization: Digest username=\\"bob\\", response=\\"${a}\\", nonce=\\"${b}\\"" https://x`,
      `curl --header='Proxy-Authorization: Basic ${a}' -b "sid=${b}" https://x`,
      `curl -u bob:${a} https://x; mysql -p${b}`,
      `prog --password "${a} ${b}" next`,
      `prog --password '${a} '${b} next`,
      `prog --password -- ${a}`,
      `prog password = ${a}`,
      `TOKEN=${a} PASS='${b} x' cmd`,
      `env -i SECRET=${a} cmd && export API_KEY="a ${b}"`,
      `bash -c "curl -H 'X-Api-Key: ${a}'"`,
      `bash -c 'bash -c "curl -H \\"Authorization: Bearer ${a}\\""'`,
      `cat <<EOF\nAuthorization: ${a} ${b}\nEOF`,
      `curl -d '{"password": "${a} ${b}"}' x`,
      `curl -d "{\\"password\\": \\"${a} ${b}\\"}" x`,
      `curl "https://x/?sig=${a}&code=${b}" ftp://${b}@h https://bob:${a}@host/`,
      `x -H "authorization : bearer ${a}"; x -H $'Cookie: ${b}'`,
      `PGPASSWORD=${a} psql; MYSQL_PWD="${b}" mysql`,
      `echo eyJhbGciOiJIUzI1NiJ9.${a}.${b} ghp_${a}${b}`,
    ];
    for (const text of texts) {
      for (const argv of [
        ['sh', '-c', text],
        ['bash', '-lc', text],
        ['ssh', 'host', text],
        ['sudo', 'sh', '-ec', text],
      ]) {
        const line = commandLine(shown(...argv));
        expect({ line, leaks: line.includes(a) || line.includes(b) }).toEqual({ line, leaks: false });
      }
    }
  });

  it('has none in arguments that programs take secrets by', () => {
    const a = 'hunter2X9';
    const b = 'zebra7Q';
    const commands = [
      ['curl', '-H', `Authorization: Digest username="x", response="${a}", opaque="${b}"`],
      ['curl', '-H', `Cookie: "a"; b=${a}&x=${b}`],
      ['curl', `-HAuthorization: Basic ${a}`, `--header=Set-Cookie: a=${b}; x`],
      ['curl', '-u', `bob:${a}`, '-U', `joe:${b}`],
      ['curl', `-ubob:${a}`, '--user', `x:${b}`],
      ['curl', '-b', `${a}; x=${b}`],
      ['curl', '-d', `user=bob&password=${a} ${b}`],
      ['prog', '--password', '--', a],
      ['prog', '--', '--password', a],
      ['prog', `--password:${a}`, `/password:${b}`],
      ['prog', `--password ${a} ${b}`],
      ['prog', `-password\t"${a} ${b}"`],
      ['prog', '--api key', a],
      ['prog', `--my secret word ${a}`, `--api key=${b}`],
      ['prog', 'password', '=', a],
      ['env', '-S', `TOKEN=${a} cmd --pass ${b}`],
      ['python3', '-c', `import x; x.login(password="${a}", token='${b}')`],
      ['node', '-e', `fetch("u",{headers:{authorization:"Bearer ${a}",cookie:"${b}"}})`],
      ['echo', `-----BEGIN RSA PRIVATE KEY-----\n${a}\n${b}\n-----END`],
      ['echo', `sk-proj-${a}aaaaaaaa`, `xoxb-123-${b}`],
      ['git', '-c', `http.extraheader=Authorization: Basic ${a}`, 'fetch'],
      ['sudo', 'mysql', `-p${a}`],
      ['sshpass', '-p', a, 'ssh', 'host'],
      ['docker', 'login', '-u', 'bob', '-p', a],
      ['psql', `host=h password='${a} ${b}'`],
      ['openssl', 'enc', '-pass', `pass:${a}`, '-k', b],
    ];
    for (const argv of commands) {
      const line = commandLine(shown(...argv));
      expect({ line, leaks: line.includes(a) || line.includes(b) }).toEqual({ line, leaks: false });
    }
  });

  it('shows what is not secret as it is', () => {
    const text = 'ls -la | grep foo > out.txt && echo "done now"';
    expect(shown('sh', '-c', text)).toEqual(['sh', '-c', text]);
    expect(shown('curl', '-s', 'https://example.com/a?page=2#top')).toEqual([
      'curl',
      '-s',
      'https://example.com/a?page=2#top',
    ]);
    expect(shown('git', 'commit', '--author', 'me', '--message=done')).toEqual([
      'git',
      'commit',
      '--author',
      'me',
      '--message=done',
    ]);
    expect(commandLine(['sh', '-c', 'echo "a"', ''])).toBe('sh -c "echo \\"a\\"" ""');
  });

  it('never holds a secret that stands where secrets stand', () => {
    const secret = fc.stringMatching(/^[A-Za-z0-9+/_.-]{12,40}$/);
    const name = fc.constantFrom('token', 'API_KEY', 'client-secret', 'PASSWORD', 'dbPasswd', 'x.credential', 'AUTH');
    const places = fc.constantFrom(
      (key: string, value: string) => [`--${key}`, value],
      (key: string, value: string) => [`--${key}=${value}`],
      (key: string, value: string) => [`${key}=${value}`],
      (key: string, value: string) => ['sh', '-c', `${key}='${value}' run`],
      (key: string, value: string) => ['-d', `{"${key}": "${value}"}`],
      (_key: string, value: string) => [`send: Bearer ${value}`],
      (_key: string, value: string) => [`postgres://me:${value}@host/db`],
    );
    fc.assert(
      fc.property(secret, name, places, fc.array(fc.string()), (value, key, place, before) => {
        const line = commandLine(redactArguments(['program', ...before, ...place(key, value)]));
        expect(line).not.toContain(value);
      }),
      { numRuns: 500 },
    );
  });

  it('is bounded, well-formed and quick to make, whatever it is made of', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary', maxLength: 600 }), { maxLength: 100 }), (argv) => {
        const all = redactArguments(argv);
        expect(all.length).toBeLessThanOrEqual(65);
        for (const each of all) expect(each.length).toBeLessThanOrEqual(256);
        const line = commandLine(all);
        expect(line.length).toBeLessThanOrEqual(2_048);
        expect(line.isWellFormed()).toBe(true);
      }),
    );
    const started = performance.now();
    for (const text of ['a', '-', 'key', 'token=', '"', 'http://', 'a@', ' ']) shown(text.repeat(100_000));
    expect(performance.now() - started).toBeLessThan(5_000);
  });
});
