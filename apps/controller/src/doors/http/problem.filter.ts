import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { FarmError } from '#contracts';
import { refusalOf, sendProblem } from './problem.js';

/** What no route of ours answers, such as an unknown path: a problem too. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  catch(error: unknown, host: ArgumentsHost): void {
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    const failure = error instanceof HttpException ? new FarmError('not_available') : refusalOf(error);
    void sendProblem(reply, failure);
  }
}
