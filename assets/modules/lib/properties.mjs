/** Properties of Dash's components. */

/** @type {object[]|null} what waits until Dash shows the page; null from then on */
let waiting = [];

/**
 * Set properties of several components in one rendering.
 * @param {Object<string, object>} properties new values by the ids of components
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

/** @param {string} id @returns {object|undefined} the properties of a component as Dash has them */
export const getProperties = (id) => window.dash_component_api?.getLayout(id)?.props;

/** Set what has waited for Dash. */
export function releaseProperties() {
  const released = waiting ?? [];
  waiting = null;
  released.forEach(setProperties);
}
