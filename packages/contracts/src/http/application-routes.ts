import Type from 'typebox';
import {
  ApplicationChangeView,
  ApplicationName,
  ApplicationVersionName,
  ApplicationVersionView,
  ApplicationView,
  NewApplicationVersion,
  RollbackPolicy,
  ScaleSettings,
  TrafficShares,
  UploadedPayload,
} from '../application.js';
import { defineRoute } from './route.js';

const ByApp = Type.Object({ app: ApplicationName });
const ByVersion = Type.Object({ app: ApplicationName, version: ApplicationVersionName });
const theApplication = { 200: { about: 'The application', schema: ApplicationView } };

/** Deployed applications: payloads, versions, traffic, scaling settings. */
export const applicationRoutes = {
  listApplications: defineRoute({
    id: 'listApplications',
    method: 'GET',
    path: '/v1/apps',
    about: 'Lists the applications of your tenant',
    access: 'apps:read',
    responses: {
      200: {
        about: 'All applications, ordered by name',
        schema: Type.Object({ applications: Type.Array(ApplicationView) }),
      },
    },
  }),
  getApplication: defineRoute({
    id: 'getApplication',
    method: 'GET',
    path: '/v1/apps/{app}',
    about: 'Returns an application with its versions and the last changes of its traffic',
    access: 'apps:read',
    params: ByApp,
    responses: {
      200: {
        about: 'The application, and the changes of its traffic, newest first',
        schema: Type.Object({ application: ApplicationView, changes: Type.Array(ApplicationChangeView) }),
      },
    },
  }),
  uploadPayload: defineRoute({
    id: 'uploadPayload',
    method: 'POST',
    path: '/v1/apps/{app}/payloads',
    about: 'Checks and stores a zip with the files of an application; deploy it with `POST /v1/apps/{app}/versions`',
    access: 'apps:write',
    params: ByApp,
    upload: { contentType: 'application/zip', about: 'A zip with host.json at its root' },
    responses: { 201: { about: 'The payload is stored', schema: UploadedPayload } },
  }),
  deployApplication: defineRoute({
    id: 'deployApplication',
    method: 'POST',
    path: '/v1/apps/{app}/versions',
    about:
      'Deploys a payload, or a folder on the machine of the platform, as a version of an application. A folder needs the scope functions:commands, too',
    access: 'apps:write',
    params: ByApp,
    body: NewApplicationVersion,
    responses: {
      201: {
        about: 'The version is deployed',
        schema: Type.Object({ version: ApplicationVersionView, application: ApplicationView }),
      },
    },
  }),
  deleteApplicationVersion: defineRoute({
    id: 'deleteApplicationVersion',
    method: 'DELETE',
    path: '/v1/apps/{app}/versions/{version}',
    about: 'Removes a version that has no traffic',
    access: 'apps:write',
    params: ByVersion,
    responses: theApplication,
  }),
  setTraffic: defineRoute({
    id: 'setTraffic',
    method: 'PUT',
    path: '/v1/apps/{app}/traffic',
    about: 'Splits the traffic of an application among its versions',
    access: 'apps:write',
    params: ByApp,
    body: Type.Object({ traffic: TrafficShares }, { additionalProperties: false }),
    responses: theApplication,
  }),
  promoteVersion: defineRoute({
    id: 'promoteVersion',
    method: 'POST',
    path: '/v1/apps/{app}/versions/{version}/promote',
    about: 'Gives all traffic of an application to one version',
    access: 'apps:write',
    params: ByVersion,
    responses: theApplication,
  }),
  rollBackApplication: defineRoute({
    id: 'rollBackApplication',
    method: 'POST',
    path: '/v1/apps/{app}/rollback',
    about: 'Returns to the traffic before the last change, or gives all traffic to the version that the body names',
    access: 'apps:write',
    params: ByApp,
    body: Type.Object(
      {
        version: Type.Optional(ApplicationVersionName),
        reason: Type.Optional(Type.String({ maxLength: 500, pattern: '^[^\\u0000-\\u001f\\u007f]*$' })),
      },
      { additionalProperties: false },
    ),
    responses: theApplication,
  }),
  setScaling: defineRoute({
    id: 'setScaling',
    method: 'PUT',
    path: '/v1/apps/{app}/scaling',
    about: 'Sets the bounds of scaling of an application; what is absent gets the default of the platform',
    access: 'apps:write',
    params: ByApp,
    body: ScaleSettings,
    responses: theApplication,
  }),
  setRollbackPolicy: defineRoute({
    id: 'setRollbackPolicy',
    method: 'PUT',
    path: '/v1/apps/{app}/rollback-policy',
    about: 'Sets when a new version of an application loses its traffic by itself',
    access: 'apps:write',
    params: ByApp,
    body: RollbackPolicy,
    responses: theApplication,
  }),
  deleteApplication: defineRoute({
    id: 'deleteApplication',
    method: 'DELETE',
    path: '/v1/apps/{app}',
    about: 'Removes an application: it accepts no more calls, finishes what runs, and is then removed',
    access: 'apps:write',
    params: ByApp,
    responses: { 202: { about: 'The application drains and is then removed', schema: ApplicationView } },
  }),
};
