/** Properties of Dash's components. */

/** @type {Record<string, object>[]|null} what waits until Dash shows the page; null from then on */
let waiting = [];

/**
 * Set properties of several components in one rendering.
 * @param {Record<string, object>} properties new values by the ids of components
 */
export function setProperties(properties) {
  if (waiting !== null) {
    waiting.push(properties);
    return;
  }
  window.ReactDOM.unstable_batchedUpdates(() => {
    for (const [id, values] of Object.entries(properties)) window.dash_clientside.set_props(id, values);
  });
}

/**
 * Return the properties of a component as Dash has them. Until it shows the page it has none, and fails when it is asked.
 * @param {string} id @returns {Record<string, any>|undefined}
 */
export const getProperties = (id) => (waiting === null ? window.dash_component_api.getLayout(id)?.props : undefined);

/** Set what has waited for Dash. */
export function releaseProperties() {
  const released = waiting ?? [];
  waiting = null;
  released.forEach(setProperties);
}
