import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import type { TSchema } from '@sinclair/typebox';
import type { Fault } from '@sealgate/errors';
import { faultsOf } from './faults.ts';
import { isInstant } from './instant.ts';
import { DECIMAL_KEYWORD, isDecimalIn } from './parameters.ts';

/**
 * Bodies up to this size are checked to the end, so that every fault is told at once. A larger one could hold a million
 * faults, and naming them would stall the process: there the first one has to do.
 */
const ALL_FAULTS_MAX_BYTES = 262_144;

/** Checks a value; the answer is its faults, none when it fits. */
export type Validator = (value: unknown, sizeBytes: number) => readonly Fault[];

function newAjv(allErrors: boolean): Ajv {
  const ajv = new Ajv({ strict: true, allErrors, coerceTypes: false, useDefaults: false, ownProperties: true });
  addFormats.default(ajv);
  ajv.addFormat('date-time', isInstant);
  ajv.addKeyword({ keyword: DECIMAL_KEYWORD, type: 'string', schemaType: 'object', validate: isDecimalIn });
  return ajv;
}

/** Compiles the schemas of one app. Both compilers are made once and used for all of them. */
export class SchemaCompiler {
  readonly #thorough = newAjv(true);
  readonly #brief = newAjv(false);

  /** @throws Error when the schema is not valid under ajv's strict mode. */
  compile(schema: TSchema, where: Fault['in']): Validator {
    const thorough = this.#thorough.compile(schema);
    let brief: ValidateFunction | undefined;
    return (value, sizeBytes) => {
      if (sizeBytes <= ALL_FAULTS_MAX_BYTES) return thorough(value) ? [] : faultsOf(errorsOf(thorough), where);
      brief ??= this.#brief.compile(schema);
      return brief(value) ? [] : faultsOf(errorsOf(brief), where);
    };
  }
}

function errorsOf(validate: ValidateFunction): readonly ErrorObject[] {
  return validate.errors ?? [];
}
