/** Commands of the palette. Each mounted component offers its own. */
const { useEffect, useRef } = window.React;

export const BACK = "Go back to";
const offers = new Map();

/**
 * @param {string} from name of the component that offers
 * @param {() => Command[]} offer called when the palette opens
 */
export function useOffer(from, offer) {
  const latest = useRef(offer);
  latest.current = offer;
  useEffect(() => {
    offers.set(from, () => latest.current());
    return () => offers.delete(from);
  }, [from]);
}

/** @returns {Command[]} all current offers; the order in which components were mounted has no effect */
export const listOffers = () => [...offers].sort(([one], [other]) => (one < other ? -1 : 1)).flatMap(([, offer]) => offer());
