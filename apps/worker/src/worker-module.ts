import { Module } from '@nestjs/common';

/** Nest's part in the worker is its lifecycle and the ear: a microservice that listens to its own bell. */
@Module({})
export class WorkerModule {}
