import { createHash } from 'node:crypto';

const lines = (count: number, line: (index: number) => string) =>
  Array.from({ length: count }, (_, n) => line(n)).join('\n');
const digest = (n: number) => createHash('sha256').update(String(n)).digest();
const people = Array.from({ length: 40 }, (_, n) => ({
  id: n,
  name: `Person ${n}`,
  email: `person${n}@example.com`,
  active: n % 2 === 0,
  score: digest(n).readUInt32BE() / 2 ** 32,
  tags: ['alpha', 'beta'],
}));

/** Texts as they are found in the memory of agents: prose, code, data, several scripts. */
export const usualTexts: Readonly<Record<string, string>> = {
  english:
    'The committee met on Tuesday to review the budget. Researchers have shown that careful planning, honest review and ' +
    'steady work improve the quality of most projects. Nevertheless, unforeseen circumstances occasionally require ' +
    'substantial reconsideration of earlier decisions: who decides, by when, and at what cost?',
  german:
    'Die Verarbeitung natürlicher Sprache ist ein Teilgebiet der Informatik. Wir prüfen, ob die ' +
    'Geschwindigkeitsbegrenzung eingehalten wurde, und veröffentlichen anschließend die Ergebnisse.',
  french:
    "L'apprentissage automatique permet aux systèmes d'améliorer leurs résultats à partir des données. Aujourd'hui, nous " +
    'avons vérifié que les résultats étaient conformes aux exigences énoncées l’année dernière.',
  polish:
    'Przetwarzanie języka naturalnego jest interdyscyplinarną dziedziną, łączącą zagadnienia sztucznej inteligencji i ' +
    'językoznawstwa. Wszystkie wyniki zostały wczoraj sprawdzone.',
  russian:
    'Обработка естественного языка — общее направление искусственного интеллекта и математической лингвистики. Сегодня мы ' +
    'проверили результаты и опубликовали окончательный отчёт.',
  greek: 'Η επεξεργασία φυσικής γλώσσας είναι ένας διεπιστημονικός κλάδος της επιστήμης της πληροφορικής.',
  arabic:
    'معالجة اللغات الطبيعية هي مجال فرعي من علوم الحاسوب والذكاء الاصطناعي، وهي تهتم بالتفاعل بين الحواسيب واللغات.',
  hindi: 'प्राकृतिक भाषा संसाधन कंप्यूटर विज्ञान और कृत्रिम बुद्धिमत्ता का एक क्षेत्र है।',
  vietnamese:
    'Xử lý ngôn ngữ tự nhiên là một nhánh của trí tuệ nhân tạo tập trung vào các ứng dụng trên ngôn ngữ của con người.',
  chinese:
    '自然语言处理是人工智能和语言学领域的分支学科。此领域探讨如何处理及运用自然语言；自然语言处理包括多方面和步骤，基本有认知、理解、生成等部分。',
  japanese:
    '自然言語処理は、人間が日常的に使っている自然言語をコンピュータに処理させる一連の技術であり、人工知能と言語学の一分野である。',
  korean:
    '자연어 처리는 인간의 언어 현상을 컴퓨터와 같은 기계를 이용해서 묘사할 수 있도록 연구하고 이를 구현하는 인공지능의 주요 분야 중 하나이다.',
  emoji:
    'Done 🎉🎉 Great work 👍🏽! The family 👩‍👩‍👧‍👦 went to 🇩🇪 and 🇯🇵. ✅ tests ❌ lint ⚠️ warnings 🚀🚀🚀 😀😃😄😁😆',
  typescript:
    'export async function countAll(items: readonly Item[], { limit = 10 }: Options = {}): Promise<number> {\n' +
    '  const counts = new Map<string, number>();\n  for (const { id, size } of items) {\n' +
    '    if (size > limit) throw new RangeError(id + " is too large");\n    counts.set(id, (counts.get(id) ?? 0) + 1);\n  }\n' +
    '  return [...counts.values()].reduce((sum, count) => sum + count, 0);\n}\n',
  python:
    'def fib(n: int) -> list[int]:\n    """Return the first n numbers."""\n    a, b = 0, 1\n    out = []\n' +
    '    for _ in range(n):\n        out.append(a)\n        a, b = b, a + b\n    return out\n',
  c: '#include <stdio.h>\nint main(void) {\n\tfor (int i = 0; i < 10; ++i) {\n\t\tprintf("%d %d\\n", i, i * i);\n\t}\n\treturn 0;\n}\n',
  sql: 'SELECT o.id, count(*) AS n FROM orders AS o LEFT JOIN lines AS l ON l.order_id = o.id WHERE o.total >= 100.50 GROUP BY o.id;',
  html: '<div class="container main"><p id="p1">Hello, <b>world</b>!</p><ul><li>1</li><li>2</li></ul></div>',
  diff: "--- a/src/x.ts\n+++ b/src/x.ts\n@@ -1,3 +1,3 @@\n import { a } from './a.js';\n-const x = 1;\n+const x = 2;\n",
  markdown:
    '| Name | Count | Share |\n|---|---:|---:|\n| alpha | 10 | 12.5% |\n| beta | 70 | 87.5% |\n\n- **one**\n- [two](#two)\n',
  json: JSON.stringify(people),
  'json with indentation': JSON.stringify(people, undefined, 2),
  'numbers with indentation': JSON.stringify(
    Array.from({ length: 100 }, (_, n) => digest(n).readUInt16BE()),
    undefined,
    2,
  ),
  csv: lines(
    60,
    (n) => `${n},2026-11-${10 + (n % 20)},${(digest(n).readUInt32BE() / 1e6).toFixed(2)},EUR,customer ${n}`,
  ),
  log: lines(
    40,
    (n) => `2026-11-18T10:${10 + n}:07.${100 + n}Z INFO [worker-${n % 4}] GET /api/v1/items/${n * 37} 200 ${n}ms`,
  ),
  files: lines(20, (n) => `-rw-r--r-- 9 root root ${digest(n).readUInt32BE()} Nov 18 00:${10 + n} chunk-${n}.js`),
  hashes: lines(20, (n) => digest(n).toString('hex')),
  base64: Buffer.concat(Array.from({ length: 30 }, (_, n) => digest(n))).toString('base64'),
};
