const { app, trigger } = require('@azure/functions');

app.generic('pigeon', { trigger: trigger.generic({ type: 'carrierPigeonTrigger', loft: 'north' }), handler: () => {} });
