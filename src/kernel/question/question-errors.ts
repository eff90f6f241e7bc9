import { type InputError, invalidInput, ProcessError } from '../../base/errors.js';
import type { Pid, QuestionId } from '../../base/ids.js';

export function noSuchQuestion(question: QuestionId): ProcessError {
  return new ProcessError('NO_SUCH_QUESTION', `There is no question ${JSON.stringify(question.slice(0, 100))}.`, {
    facts: { question },
    hint: "questions.list({ status: 'any' }) shows those that there are.",
  });
}

export function questionNotPending(question: QuestionId, status: string): ProcessError {
  return new ProcessError('CONFLICT', `Question ${question} is ${status}: there is nothing to answer any more.`, {
    facts: { question, status },
    hint: 'questions.list() shows those that wait for an answer.',
  });
}

export function tooManyQuestions(pid: Pid, pendingMax: number): ProcessError {
  return new ProcessError('TOO_MANY_QUESTIONS', `Process ${pid} waits for ${pendingMax} answers already.`, {
    facts: { pid, pendingMax },
    hint: 'Wait until one of them is answered.',
    retryable: true,
  });
}

export function notAChoice(question: QuestionId, choices: number): InputError {
  return invalidInput(
    'answer.answer',
    `is none of the ${choices} choices`,
    'Give one of the choices of the question.',
    {
      question,
    },
  );
}
