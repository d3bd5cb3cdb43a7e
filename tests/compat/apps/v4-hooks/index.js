const { writeSync } = require('node:fs');
const { app } = require('@azure/functions');

const story = [];

app.hook.appStart(async (context) => {
  await Promise.resolve();
  context.hookData.atStart = 'kept';
  story.push('appStart');
});
app.hook.preInvocation(async (context) => {
  const { functionName, invocationId } = context.invocationContext;
  story.push(`pre ${functionName} ${invocationId.length > 0}`);
  context.hookData.begun = invocationId;
  if (context.inputs[0] === 'other input') context.inputs = ['another one', 'and one more'];
  if (context.inputs[0] === 'other handler') {
    const original = context.functionHandler;
    context.functionHandler = async (...args) => `wrapped: ${await original(...args)}`;
  }
  if (context.inputs[0] === 'refused') throw new Error('refused by a hook');
});
app.hook.preInvocation((context) => {
  story.push(`second pre ${context.hookData.begun === context.invocationContext.invocationId}`);
});
app.hook.postInvocation((context) => {
  const { inputs, result, error, hookData, invocationContext } = context;
  story.push(
    `post ${error ? error.message : JSON.stringify(result)} ${inputs.length} ${hookData.begun === invocationContext.invocationId}`,
  );
  if (inputs[0] === 'other result') context.result = 'by a hook';
  if (inputs[0] === 'forgiven') {
    context.error = undefined;
    context.result = 'forgiven';
  }
  if (inputs[0] === 'blamed') context.error = new Error('blamed by a hook');
});
app.hook.log((context) => {
  if (context.category === 'user' && context.message.startsWith('secret')) {
    context.message = `hidden in ${context.invocationContext?.functionName}`;
    context.level = 'warning';
  }
});
const never = app.hook.preInvocation(() => story.push('never'));
never.dispose();
app.hook.appTerminate(async (context) => {
  await Promise.resolve();
  writeSync(1, `the app ends, ${String(context.hookData.atStart)}\n`);
});

app.storageQueue('hooked', {
  queueName: 'in',
  connection: 'Storage',
  handler: (input, ...rest) => {
    const context = rest.at(-1);
    context.log(`secret ${String(input)}`);
    if (input === 'story') return story.splice(0);
    if (input === 'fails' || input === 'forgiven') throw new Error(`thrown for ${input}`);
    return `${String(input)} (${rest.length + 1} arguments)`;
  },
});
