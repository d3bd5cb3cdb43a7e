import Type, { type Static } from 'typebox';
import { ScaleSettings } from './application.js';

const workers = (description: string) => Type.Integer({ minimum: 0, description });

export const ScalingDecisionView = Type.Object({
  at: Type.String({ format: 'date-time', description: 'Time of the first decision with this result and cause' }),
  until: Type.String({ format: 'date-time', description: 'Time of the last one in a row; `facts` are of that one' }),
  count: Type.Integer({ minimum: 1, description: 'Decisions in a row with this result and cause' }),
  desired: workers('Function workers that were decided on'),
  previous: workers('Function workers that were decided on before'),
  cause: Type.String({ description: 'The rule or limit that set the number; `steady` if none changed it' }),
  reason: Type.String({ description: 'The decision in one sentence, with the values that it was made of' }),
  isPanic: Type.Boolean({ description: 'Demand grew so fast that the number cannot fall for a while' }),
  proposals: Type.Array(
    Type.Object({
      rule: Type.String(),
      vote: Type.String({ description: '`up`, `down` or `keep`' }),
      workers: workers('Function workers that the rule wants'),
      text: Type.String({ description: 'What the rule compared' }),
    }),
    { description: 'What each rule wanted' },
  ),
  clamps: Type.Array(
    Type.Object({ clamp: Type.String(), from: workers('Before'), to: workers('After'), text: Type.String() }),
    { description: 'What changed the number after the rules, in order' },
  ),
  facts: Type.Record(Type.String(), Type.Unknown(), {
    description: 'Everything that the decision was made of, enough to make it again',
  }),
  isReproducible: Type.Boolean({ description: 'It was made again from its facts just now, with the same result' }),
});
export type ScalingDecisionView = Static<typeof ScalingDecisionView>;

/** Answers "why does this application have 3 workers?". */
export const ScalingView = Type.Object({
  application: Type.String(),
  workers: Type.Object({
    desired: workers('Function workers that it shall have'),
    ready: workers('Function workers that take calls'),
    starting: workers('Function workers that are not ready yet'),
    draining: workers('Function workers that finish their last calls'),
  }),
  why: Type.String({ description: 'Why it has this number of workers, in one sentence' }),
  scaling: Type.Required(ScaleSettings, { description: 'The settings in effect, with the defaults of the platform' }),
  decisions: Type.Array(ScalingDecisionView, {
    description: 'The last decisions that changed something, newest first',
  }),
});
export type ScalingView = Static<typeof ScalingView>;
