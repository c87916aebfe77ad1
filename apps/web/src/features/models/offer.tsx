// The one thing that is offered on the first visit: the model that would answer best on this device, with its price.
import type { Probe } from 'lapidary';
import { predict, recommend, type CatalogueEntry } from 'lapidary/hub';
import { useEffect, useState } from 'preact/hooks';
import { builtinBytes } from '../../engine/builtin.js';
import { library } from './here.js';
import { hrefOf } from '../../router.js';
import { endOffer, offerIsOver } from '../../store/remembered.js';
import { useObserved } from '../../store/observable.js';
import { formatBytes } from '../../views/format.js';
import { Icon, IconButton } from '../../views/icons.js';
import { useArrivals } from './arrivals.js';
import { offered, useGetting, useRowState } from './catalogue.js';
import { LicencePanel } from './licence.js';
import { RowButton, Under } from './row.js';
import * as words from './words.js';
import './offer.css';

export function Offer({ probe }: { probe: Probe }) {
    const { kept } = useObserved(library.view);
    const [over, setOver] = useState(offerIsOver());
    useEffect(() => void library.refresh(), []);
    if (over || !kept) return null;
    // One that is on its way, or here, is still the one.
    const begun = offered.find(({ id }) => kept.some(({ name }) => name === id));
    const entry = begun ?? recommend(offered, probe);
    if (!entry) return null;
    const close = () => {
        endOffer();
        setOver(true);
    };
    return <Card key={entry.id} entry={entry} probe={probe} onClose={close} />;
}

function Card({ entry, probe, onClose }: { entry: CatalogueEntry; probe: Probe; onClose: () => void }) {
    const { id, title, about, bytes } = entry;
    useArrivals();
    const prediction = predict(bytes, probe);
    const { open, actions, panel } = useGetting(library, id);
    const state = useRowState(library, id, prediction);
    const { tokensPerSecond, pace, memory, available, verdict } = prediction;
    if (state.is === 'no place' || state.is === 'too large' || state.is === 'answering') return null;
    const here = state.is === 'kept';
    const asking = state.is === 'offered';
    return (
        <section class="offer" aria-labelledby="offer-title">
            <IconButton icon="close" label={words.close} class="close" onClick={onClose} />
            <h2 id="offer-title">
                {here ? words.isHere(title) : words.offerTitle}{' '}
                {asking && verdict === 'fits' && <span class="pill good">{words.fitsThisDevice}</span>}
                {asking && verdict === 'tight' && <span class="pill warn">{words.tight}</span>}
            </h2>
            {asking && (
                <p>
                    <span class="roomy">{words.offerText(builtinBytes)} </span>
                    <b>{title}</b> {words.offerWhat(about)}
                </p>
            )}
            {asking && (
                <dl class="prices">
                    <Price value={formatBytes(bytes.about)} what={words.onceThenKept} />
                    <Price value={formatBytes(memory)} what={words.ofMemory(available)} />
                    {tokensPerSecond !== undefined && (
                        <Price value={words.tokensPerSecond(tokensPerSecond, false)} what={pace ? words.pace(pace) : ''} />
                    )}
                </dl>
            )}
            {open && asking && <LicencePanel {...panel} />}
            {!asking && !here && (
                <>
                    <p>
                        <b>{title}</b> · {words.wait}
                    </p>
                    <Under title={title} state={state} prediction={prediction} onRemove={actions.remove} />
                </>
            )}
            <p class="acts" hidden={open && asking}>
                {asking ? (
                    <button type="button" class="button primary" onClick={actions.get}>
                        <Icon name="download" />
                        {words.getThis(title)}
                    </button>
                ) : (
                    <RowButton title={title} state={state} actions={actions} />
                )}
                <a class="button quiet" href={hrefOf({ page: 'models' })}>
                    {words.allModels}
                </a>
            </p>
        </section>
    );
}

function Price({ value, what }: { value: string; what: string }) {
    return (
        <div>
            <dt>{what}</dt>
            <dd>{value}</dd>
        </div>
    );
}
