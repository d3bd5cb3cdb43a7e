const { app } = require('@azure/functions');

for (const name of ['talk', 'murmur'])
  app.http(name, {
    authLevel: 'anonymous',
    handler: (request, context) => {
      context.debug(`${name} debug`);
      context.log(`${name} info`);
      context.warn(`${name} warning`);
      if (request.query.has('fail')) throw new Error(`${name} failed`);
      return { body: name };
    },
  });
