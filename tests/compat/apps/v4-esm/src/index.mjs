import { app } from '@azure/functions';

const settings = await Promise.resolve({ Greeting: 'hello from a module' });

app.setup({ capabilities: { OfTheApp: settings.Greeting } });
app.hook.appStart((context) => {
  context.hookData.greeting = settings.Greeting;
});
app.hook.preInvocation((context) => {
  context.invocationContext.extraInputs.set('greeting', settings.Greeting);
});
