/** What can be done and where one can go: the components offer it as long as they stand, the palette lists it. */
const { useEffect, useRef } = window.React;

export const BACK = "Go back to";
const offers = new Map();

/**
 * @param {string} from whose offer it is
 * @param {() => Command[]} offer asked for when somebody looks
 */
export function useOffer(from, offer) {
  const latest = useRef(offer);
  latest.current = offer;
  useEffect(() => {
    offers.set(from, () => latest.current());
    return () => offers.delete(from);
  }, [from]);
}

/** @returns {Command[]} all that is offered now; whichever component stood first */
export const listOffers = () => [...offers].sort(([one], [other]) => (one < other ? -1 : 1)).flatMap(([, offer]) => offer());
